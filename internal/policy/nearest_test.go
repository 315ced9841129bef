package policy

import "testing"

// A suggestion is for a slip of the fingers: a word that is further off means
// something else, and a wrong suggestion leads away from it.
func TestNearest(t *testing.T) {
	keys := []string{"read_paths", "write_paths", "egress_rules", "env", "limits"}
	for word, want := range map[string]string{
		"read_path": "read_paths", "raed_paths": "read_paths", "egres_rule": "egress_rules", "egress": "egress_rules",
		"ready_jails": "", "en": "env", "x": "",
	} {
		if got := nearest(word, keys); got != want {
			t.Errorf("%q: %q is near, want %q", word, got, want)
		}
	}
}
