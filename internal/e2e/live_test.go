package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const liveFirst = `
write_paths: ["."]
egress_rules: ["GET api.example.test/user", "GET example.test/hold", "GET example.test/status"]
credential_proxy: [{name: old, type: https_bearer, target: api.example.test, env: OLD_TOKEN, source: {file: ~/token}}]
`

const liveSecond = `
write_paths: ["."]
egress_rules: ["GET example.test/whoami", "GET api.example.test/**"]
credential_proxy: [{name: new, type: https_bearer, target: example.test, env: NEW_TOKEN, source: {command: [/bin/cat, ~/token]}}]
`

// policies puts policy files into alice's own folder of them.
func (n *Node) policies(t *testing.T, files map[string]string) {
	t.Helper()
	dir := filepath.Join(n.Home(t, Alice), ".config/omnijail/policies")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (n *Node) apply(t *testing.T, uid uint32, id, policy string, flags ...string) Output {
	t.Helper()
	return n.Run(t, Ctl{UID: uid, Args: append([]string{"policy", "apply", "--jail", id, policy}, flags...)})
}

// A session is given another policy while a request is under way: the request is
// cut, the former placeholder is refused, the new credential works at once, and the
// journal has the change before anything of it.
func TestALiveJailIsGivenAnotherPolicy(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	token := filepath.Join(n.Home(t, Alice), "token")
	if err := errors.Join(os.WriteFile(token, []byte(Token), 0o600), os.Chown(token, Alice, Alice)); err != nil {
		t.Fatal(err)
	}
	n.policies(t, map[string]string{
		"first": liveFirst, "second": strings.Replace(liveSecond, "~/token", token, 1),
		"wider": strings.Replace(liveFirst, `["."]`, `[".", /opt]`, 1),
	})
	id := n.create(t, "--policy", "first")
	const status = `curl -s -o /dev/null -w '%{http_code}\n' `
	held := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--jail", id, "--", "sh", "-c", status + `https://api.example.test/user
		echo $OLD_TOKEN >~/old; ` + status + `https://example.test/hold; read go; ` + status + `-H "Authorization: Bearer $OLD_TOKEN" https://api.example.test/user`}})
	held.says(t, "200\n")
	until(t, "the request is under way", func() bool {
		seen := n.Lab.Seen()
		return len(seen) > 0 && seen[len(seen)-1].Target == "/hold" || n.Lab.Connections() >= 2
	})

	t.Run("never without being asked", func(t *testing.T) {
		o := n.apply(t, Alice, id, "second")
		o.Want(t, 64)
		if !strings.Contains(o.Stderr, "--yes") || !strings.Contains(o.Stdout, "+ GET example.test/whoami\n") {
			t.Errorf("%s%s", o.Stdout, o.Stderr)
		}
	})
	t.Run("not what a jail was made by", func(t *testing.T) {
		o := n.apply(t, Alice, id, "wider", "--yes")
		if o.Exit != 125 && o.Exit == 0 || !strings.Contains(o.Stderr, "write_paths") {
			t.Errorf("exit %d: %s", o.Exit, o.Stderr)
		}
	})
	o := n.apply(t, Alice, id, "second", "--yes").Want(t, 0)
	want := `policy of jail ` + id + `: "second"
+ credential new (https_bearer to example.test)
+ GET example.test/whoami
+ GET api.example.test/**
- GET api.example.test/user
- GET example.test/hold
- GET example.test/status
- credential old (https_bearer to api.example.test)
`
	if o.Stdout != want {
		t.Errorf("shown:\n%swant:\n%s", o.Stdout, want)
	}
	held.says(t, "200\n403\n")
	held.stdin.Write([]byte("\n"))
	held.says(t, "200\n403\n403\n")

	n.in(t, id, `test -z "$OLD_TOKEN" && curl -sS -f https://example.test/whoami && curl -s https://example.test/status`).Want(t, 0)
	if seen := n.Lab.Seen(); !seen[len(seen)-1].Authorized || seen[len(seen)-1].Target != "/whoami" {
		t.Errorf("the upstream saw %+v", seen[len(seen)-1])
	}
	if got := n.inspect(t, id); got.Policy != "second" || len(got.Bindings) != 1 || got.Bindings[0].Name != "new" {
		t.Errorf("inspect says %+v", got)
	}
	o = n.Run(t, Ctl{UID: Alice, Args: []string{"--json", "events", "--jail", id}}).Want(t, 0)
	for _, part := range []string{`"kind":"policy"`, `"digest":"`, `"generation":1`, `"code":"policy_changed"`} {
		if !strings.Contains(o.Stdout, part) {
			t.Errorf("no %s in the journal:\n%s", part, o.Stdout)
		}
	}
}

// S07: who has a jail of the operator's policy cannot give it another; root can, and
// what it was made with stays the operator's.
func TestS07_ClosedPoliciesAreReplacedByRoot(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{
		"corp": "egress_rules: ['GET a.test']", "other": "egress_rules: ['GET b.test']",
	}})
	n.policies(t, map[string]string{"mine": "egress_rules: ['GET a.test', 'POST a.test']"})
	id := n.create(t, "--policy", "corp")
	for _, policy := range []string{"mine", "other", "offline"} {
		if o := n.apply(t, Alice, id, policy, "--yes"); o.Exit == 0 || !strings.Contains(o.Stderr, "only root") {
			t.Errorf("%s: %d %s", policy, o.Exit, o.Stderr)
		}
	}
	n.write(t, "policies/corp.yaml", "egress_rules: ['GET a.test', 'GET c.test']")
	n.apply(t, Alice, id, "corp", "--yes").Want(t, 0)
	n.apply(t, 0, id, "other", "--yes").Want(t, 0)
	if rules := n.inspect(t, id).Rules; len(rules) != 1 || rules[0] != "GET b.test/**" {
		t.Errorf("in force: %v", rules)
	}
	open := n.create(t, "--policy", "mine")
	if o := n.apply(t, Alice, open, "corp", "--yes"); o.Exit == 0 || !strings.Contains(o.Stderr, "a jail of its own") {
		t.Errorf("the operator's policy in another jail: %d %s", o.Exit, o.Stderr)
	}
}

// S14: another user's jail is as unknown as one that does not exist. S31: what is
// judged when the configuration changes is the policy in force.
func TestS14_S31_WhosePolicyAndWhich(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Config: accessOf(nil)})
	n.policies(t, map[string]string{
		"plain": "egress_rules: ['GET a.test']",
		"file":  "egress_rules: ['GET a.test']\ncredential_proxy: [{type: https_bearer, target: a.test, optional: true, source: {file: ~/none}}]",
	})
	id := n.create(t, "--policy", "plain")
	body := `{"policy":"offline"}`
	foreign, missing := ask(t, n, Bob, "PUT", "/v1/jails/"+id+"/policy", body), ask(t, n, Bob, "PUT", "/v1/jails/j0123456789abcdef/policy", body)
	if foreign != missing || foreign.status != 404 {
		t.Errorf("foreign %v, unknown %v", foreign, missing)
	}
	if a := ask(t, n, Alice, "PUT", "/v1/jails/"+id+"/policy", `{"policy":"offline","from":"00"}`); a.status != 409 {
		t.Errorf("over another policy than was looked at: %v", a)
	}
	n.apply(t, Alice, id, "file", "--yes").Want(t, 0)
	n.reload(t, accessOf(map[string]any{"sources": []string{"env"}}))
	until(t, "the jail has ended", func() bool {
		return n.Run(t, Ctl{UID: Alice, Args: []string{"inspect", id}}).Exit != 0
	})
}
