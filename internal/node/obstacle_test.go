package node

import "testing"

func TestObstacle(t *testing.T) {
	for _, c := range []struct {
		name        string
		facts       Facts
		reason, fix string
	}{
		{"it runs", able(), "", ""},
		{"an old bwrap", able(Fact{Name: BwrapUsable, Answer: No, Detail: "/usr/bin/bwrap (bubblewrap 0.6.1) has no --x", Fix: "sudo apt upgrade"}),
			"/usr/bin/bwrap (bubblewrap 0.6.1) has no --x, which this needs", "sudo apt upgrade (what this node can do: omnijailctl doctor)"},
		{"the first of two", able(Fact{Name: Drop, Answer: No, Detail: "late", Fix: "c"}, Fact{Name: Bwrap, Answer: No, Detail: "/usr/bin/bwrap: no such file", Fix: "b"}),
			"linux_bwrap cannot run here: bwrap: /usr/bin/bwrap: no such file", "b (what this node can do: omnijailctl doctor)"},
	} {
		if reason, fix := c.facts.Obstacle(Bubblewrap); reason != c.reason || fix != c.fix {
			t.Errorf("%s: %q / %q", c.name, reason, fix)
		}
	}
	if reason, _ := able().Obstacle("another"); reason != "" {
		t.Errorf("a backend that this build does not know: %q", reason)
	}
}
