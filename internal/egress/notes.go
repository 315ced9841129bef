package egress

import (
	"fmt"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Notes says what a reader of a correct rule should know: that strangers can
// register names below its wildcard, or that a glob is stricter here than in
// tools where ** ignores segment boundaries. A glob that begins with ** surprises
// nobody: it means "anywhere".
func (r Rule) Notes() []string {
	var notes []string
	if r.SharedSuffix() {
		notes = append(notes, fmt.Sprintf("%s: anyone can register a name there, so every such name is a way out", r.Host))
	}
	if !r.Deny && strings.Index(r.Path, "/**/") > 0 {
		notes = append(notes, fmt.Sprintf("%s: ** stands for whole segments; /a/**/b does not match /a/evilb", r.Path))
	}
	return notes
}

// SharedSuffix reports whether the rule's wildcard covers a suffix where
// unrelated parties get names, such as *.github.io. Such a host is no place for
// a credential.
func (r Rule) SharedSuffix() bool {
	suffix, ok := strings.CutPrefix(r.Host, "*.")
	if !ok {
		return false
	}
	s, icann := publicsuffix.PublicSuffix(suffix)
	return s == suffix && (icann || strings.Contains(s, "."))
}
