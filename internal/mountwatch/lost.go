package mountwatch

import (
	"fmt"
	"maps"
	"slices"
)

// LostError says that places in a jail have lost what was mounted on them.
type LostError struct {
	Places []string // sorted, as the jail sees them
}

func (e *LostError) Error() string {
	if len(e.Places) == 0 {
		return "what protects files in the jail may be gone"
	}
	more := ""
	if n := len(e.Places) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("what protected %q%s in the jail is gone", e.Places[0], more)
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
