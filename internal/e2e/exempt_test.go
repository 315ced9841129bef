package e2e

import "testing"

// No way of starting a command has another network than the rest: on a terminal, in
// a session, detached, and as root's own request for somebody, the same request is
// refused and a misplaced placeholder, too.
func TestPinned_NothingIsExempt(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"rich": "caller: [cwd, tty, timeout]\n" + neighboursPolicy}})
	const try = `code() { curl -s -o /dev/null -w '%{http_code}' "$@" https://api.example.test/user; }
		all="$(code -X POST) $(code -H "X: oa_cred_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") $(code)"; echo $all`
	const want = "403 403 200"
	env := []string{"E2E_TOKEN=" + Token, "TERM=xterm"}
	s := n.screenOf(t, Ctl{UID: Alice, Env: env, Args: []string{"exec", "--policy", "rich", "--", "sh", "-c", try}})
	s.expect(want)
	s.exit(0)
	id := n.Run(t, Ctl{UID: Alice, Env: env, Args: []string{"create", "--policy", "rich", "--", "sh", "-c", try}}).Want(t, 0).Stdout
	id = id[:len(id)-1]
	t.Cleanup(func() { n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}}) })
	until(t, "the detached command has ended", func() bool {
		d := n.inspect(t, id).Detached
		return d != nil && !d.Running
	})
	for name, o := range map[string]Output{
		"detached": n.Run(t, Ctl{UID: Alice, Args: []string{"logs", id}}), "in a session": n.in(t, id, try),
		"for somebody, by root": n.Run(t, Ctl{UID: 0, Args: []string{"exec", "--jail", id, "--", "sh", "-c", try}}),
	} {
		if o.Stdout != want+"\n" {
			t.Errorf("%s: %q %s", name, o.Stdout, o.Stderr)
		}
	}
}
