package node

import "testing"

func TestObstacle(t *testing.T) {
	all := func(change ...Fact) (f Facts) {
		for _, b := range backends {
			for _, n := range b.run {
				f.Facts = append(f.Facts, Fact{Name: n, Answer: Yes})
			}
		}
		for _, c := range change {
			for i := range f.Facts {
				if f.Facts[i].Name == c.Name {
					f.Facts[i] = c
				}
			}
		}
		return f
	}
	for _, c := range []struct {
		name        string
		facts       Facts
		reason, fix string
	}{
		{"it runs", all(), "", ""},
		{"an old bwrap", all(Fact{Name: BwrapUsable, Answer: No, Detail: "/usr/bin/bwrap (bubblewrap 0.6.1) has no --x", Fix: "sudo apt upgrade"}),
			"/usr/bin/bwrap (bubblewrap 0.6.1) has no --x, which this needs", "sudo apt upgrade (what this node can do: omnijailctl doctor)"},
		{"the first of two", all(Fact{Name: Drop, Answer: No, Detail: "late", Fix: "c"}, Fact{Name: Bwrap, Answer: No, Detail: "/usr/bin/bwrap: no such file", Fix: "b"}),
			"linux_bwrap cannot run here: bwrap: /usr/bin/bwrap: no such file", "b (what this node can do: omnijailctl doctor)"},
	} {
		if reason, fix := c.facts.Obstacle(Bubblewrap); reason != c.reason || fix != c.fix {
			t.Errorf("%s: %q / %q", c.name, reason, fix)
		}
	}
	if reason, _ := all().Obstacle("another"); reason != "" {
		t.Errorf("a backend that this build does not know: %q", reason)
	}
}
