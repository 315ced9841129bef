package e2e

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
)

const rearmPolicy = `
caller: [cwd, tty, timeout]
egress_rules: ["GET api.example.test/**"]
credential_proxy:
  - {name: api, type: https_bearer, target: api.example.test/user/**, env: API_TOKEN, source: SOURCE}
`

// degrade has the egress process of a session die.
func (n *Node) degrade(t *testing.T, id string) {
	t.Helper()
	p := n.part(t, "/egress-")
	p.signal(t, unix.SIGKILL)
	p.wait(t)
	until(t, "the jail is degraded", func() bool { return n.inspect(t, id).State == api.StateDegraded })
}

// A session that was rearmed works again, with a CA, placeholders and values of its
// own, and what was the former network's is good for nothing.
func TestS12_ARearmedSessionHasNothingOfTheFormer(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"armed": strings.Replace(rearmPolicy, "SOURCE", "{command: [/bin/echo, "+Token+"]}", 1)}})
	id := n.create(t, "--policy", "armed")
	const look = `echo "$API_TOKEN $(md5sum </run/omnijail/ca.pem)"; curl -sSf -H "Authorization: Bearer $API_TOKEN" https://api.example.test/user`
	before := n.in(t, id, look).Want(t, 0)
	old := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--jail", id, "--", "sh", "-c",
		"echo up; until [ -e ~/go ]; do sleep 0.05; done; curl -sS -m 20 https://api.example.test/user; echo curl $?"}})
	old.says(t, "up")
	n.degrade(t, id)
	n.in(t, id, look).Want(t, 6)

	n.Run(t, Ctl{UID: Bob, Args: []string{"rearm", id}}).Want(t, 125)
	n.Run(t, Ctl{UID: Alice, Args: []string{"rearm", id}}).Want(t, 0)
	if j := n.inspect(t, id); j.State != api.StateUp || j.Reason != "" {
		t.Errorf("inspect says %+v", j)
	}
	after := n.in(t, id, look).Want(t, 0)
	was, is := strings.Fields(before.Stdout), strings.Fields(after.Stdout)
	if was[0] == is[0] || was[1] == is[1] || !strings.Contains(after.Stdout, "octocat") {
		t.Errorf("before: %q\nafter: %q", before.Stdout, after.Stdout)
	}
	o := n.in(t, id, `curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer `+was[0]+`" https://api.example.test/user; touch ~/go`)
	if o.Stdout != "403" {
		t.Errorf("the former placeholder: %q", o.Stdout)
	}
	if o := old.finish(t); !strings.Contains(o.Stdout, "curl 6\n") {
		t.Errorf("the command from before: %+v", o)
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"rearm", id}}).Want(t, 125); !strings.Contains(o.Stderr, "has its network") {
		t.Errorf("a second time: %s", o.Stderr)
	}
	n.degrade(t, id) // and once more
	n.Run(t, Ctl{UID: Alice, Args: []string{"rearm", id}}).Want(t, 0)
	n.in(t, id, look).Want(t, 0)
	n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}}).Want(t, 0)
}

func TestS12_WhatIsNotRearmed(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"env": strings.Replace(rearmPolicy, "SOURCE", "{env: E2E_TOKEN}", 1)}})
	for what, want := range map[string]string{"ports": "ports lead to the network", "a value of the client's": "nobody has kept it"} {
		t.Run(what, func(t *testing.T) {
			c := Ctl{UID: Alice, Args: []string{"create", "--allow", "GET example.test/**", "--publish", fmt.Sprint(freePort(t))}}
			if what != "ports" {
				c = Ctl{UID: Alice, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{"create", "--policy", "env"}}
			}
			id := strings.TrimSpace(n.Run(t, c).Want(t, 0).Stdout)
			n.degrade(t, id)
			o := n.Run(t, Ctl{UID: Alice, Args: []string{"rearm", id}}).Want(t, 125)
			if !strings.Contains(o.Stderr, want) || n.inspect(t, id).State != api.StateDegraded {
				t.Errorf("it says %s", o.Stderr)
			}
			n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}}).Want(t, 0)
		})
	}
}
