package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A session that is refused leaves nothing behind, not even its place among the
// caller's jails: with places that are never given back a daemon could not stop.
func TestS28_ARefusedSessionIsGone(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	port := strconv.Itoa(freePort(t))
	n.create(t, "--publish", port)
	for range 20 { // more than a caller's jails may be
		o := n.Run(t, Ctl{UID: Alice, Args: []string{"create", "--publish", port}}).Want(t, 125)
		if !strings.Contains(o.Stderr, "a jail has it published already") {
			t.Fatalf("it says: %s", o.Stderr)
		}
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"ls"}}).Want(t, 0); strings.Count(o.Stdout, "\n") > 2 {
		t.Errorf("jails that nobody has: %s", o.Stdout)
	}
	if strings.Contains(n.Log(), "panic") {
		t.Errorf("the daemon says: %s", n.Log())
	}
}

// A jail takes no command before all of it is there.
func TestS14_NoCommandEntersAJailThatIsBeingMade(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	home := n.Home(t, Alice)
	asked, answer, policy := filepath.Join(home, "asked"), filepath.Join(home, "answer"), filepath.Join(home, "p.yaml")
	text := sourcePolicy("/nowhere", "sh", "-c", "touch "+asked+"; while ! test -e "+answer+"; do sleep 0.05; done; echo "+Token)
	text = strings.Replace(text, "write_paths: [/nowhere]\n", "", 1)
	if err := os.WriteFile(policy, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	made := n.launch(t, Ctl{UID: Alice, Args: []string{"create", "--policy", policy}})
	until(t, "the credential is asked for", func() bool { _, err := os.Stat(asked); return err == nil })
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"ls", "--json"}}).Want(t, 0)
	t.Log(o.Stdout)
	_, rest, _ := strings.Cut(o.Stdout, `"id"`)
	id := strings.Split(rest, `"`)[1]
	o = n.in(t, id, "echo ran")
	t.Logf("%+v", o)
	if o.Exit != 125 || !strings.Contains(o.Stderr, "is being made") {
		t.Errorf("a command in half a jail: %+v", o)
	}
	if err := os.WriteFile(answer, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	made.finish(t).Want(t, 0)
	n.in(t, id, "echo ran").Want(t, 0)
}
