package api

import (
	"slices"
	"testing"
)

// Guarantees that two backends give between them are of no use to a jail, which has
// one.
func TestGuaranteesAreGivenByOneBackend(t *testing.T) {
	d := Doctor{Backends: []BackendReport{{Guarantees: []string{"files"}}, {Guarantees: []string{"limits", "syscalls"}}}}
	for want, lacking := range map[string][]string{"files": nil, "limits": nil, "no_trace": {"no_trace"}} {
		if got := d.Lacking([]string{want}); !slices.Equal(got, lacking) {
			t.Errorf("%s: %q", want, got)
		}
	}
	if got := d.Lacking([]string{"files", "limits", "syscalls"}); !slices.Equal(got, []string{"files"}) {
		t.Errorf("%q", got)
	}
}
