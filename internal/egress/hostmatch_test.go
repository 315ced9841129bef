package egress

import "testing"

func TestMatchHost(t *testing.T) {
	for _, c := range []struct {
		pattern, host string
		want          bool
	}{
		{"api.corp.example", "api.corp.example", true},
		{"api.corp.example", "x.api.corp.example", false},
		{"*.corp.example", "git.corp.example", true},
		{"*.corp.example", "a.b.corp.example", true},
		{"*.corp.example", "corp.example", true},
		{"*.corp.example", "evilcorp.example", false},
		{"*.corp.example", "corp.example.evil.test", false},
		{"", "corp.example", false},
		{"*.", "corp.example", false},
	} {
		if got := MatchHost(c.pattern, c.host); got != c.want {
			t.Errorf("MatchHost(%q, %q) = %v", c.pattern, c.host, got)
		}
	}
}
