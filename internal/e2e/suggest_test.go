package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/api"
)

// jailOf is the jail of the newest command of alice's.
func jailOf(t *testing.T, n *Node) string {
	t.Helper()
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"--json", "events"}}).Want(t, 0)
	lines := strings.Split(strings.TrimSpace(o.Stdout), "\n")
	var r struct{ Jail string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.Jail == "" {
		t.Fatalf("%v in %s", err, o.Stdout)
	}
	return r.Jail
}

func (n *Node) suggestion(t *testing.T, id string) (s api.Suggestion) {
	t.Helper()
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"--json", "policy", "suggest", "--jail", id}}).Want(t, 0)
	if err := json.Unmarshal([]byte(o.Stdout), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// A jail that has ended is asked for forty things that no rule allows; what is
// proposed are two rules, and with them all forty are allowed.
func TestWhatWasRefusedBecomesAPolicy(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"narrow": `
caller: [cwd, tty, timeout, allow]
egress_rules: ["GET api.example.test/open/**", "GET *.test/nothing"]
`}})
	const script = `
for r in 1 2 3 4 5 6 7 8 9 10; do for p in 3 4 5 6; do curl -s https://api.example.test/repos/me/$r/pulls/$p; done; done
curl -s -XPOST -d x https://api.example.test/new
curl -s -XPOST -d x https://other.test/steal
curl -s https://nowhere.example/
true`
	n.Exec(t, "--policy", "narrow", "--", "sh", "-c", script).Want(t, 0)
	id := jailOf(t, n)
	s := n.suggestion(t, id)
	want := "egress_rules:\n  - \"GET api.example.test/repos/me/*/pulls/*\"\n  - \"POST api.example.test/new\"\n  - \"GET,HEAD nowhere.example/**\"\n"
	if s.Jail != id || s.Policy != "narrow" || s.YAML != want {
		t.Fatalf("%+v", s)
	}
	if len(s.LeftOut) != 1 || !strings.Contains(s.LeftOut[0], "POST other.test/steal") {
		t.Errorf("left out %q", s.LeftOut)
	}
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"policy", "suggest", "--jail", id}}).Want(t, 0)
	for line := range strings.Lines(o.Stdout) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(want, line) {
			t.Errorf("neither a comment nor an entry: %q", line)
		}
	}
	allowed := n.Exec(t, "--policy", "narrow", "--allow", s.Rules[0], "--", "curl", "-s", "https://api.example.test/repos/me/1/pulls/3").Want(t, 0)
	if strings.Contains(allowed.Stderr, "denied") {
		t.Errorf("%s", allowed.Stderr)
	}
}
