package e2e

import (
	"strings"
	"testing"
)

const nssPolicy = `
egress_rules:
  - "GET example.test/**"
`

// askByNSS has NSS itself make a request, with what it believes in the user's own
// database and no more.
const askByNSS = `vfyserv -d "sql:$HOME/.pki/nssdb" -p 443 example.test 2>&1 | grep bytes`

// TestNSSInAJail: programs that look for certificates in NSS's database of the user
// find one that trusts the jail's CA. A session that was rearmed has its new CA there.
func TestNSSInAJail(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"default": nssPolicy, "offline": "description: none\n"}})
	if o := n.Exec(t, "--", "sh", "-c", askByNSS).Want(t, 0); !strings.Contains(o.Stdout, "bytes total") {
		t.Errorf("%+v", o)
	}
	if o := n.Exec(t, "--policy", "offline", "--", "sh", "-c", "ls -A ~").Want(t, 0); strings.Contains(o.Stdout, ".pki") {
		t.Errorf("a jail without a network has %q in its home", o.Stdout)
	}

	// A pipe in the place of a file keeps no later command from its start.
	odd := n.create(t)
	n.in(t, odd, "cd ~/.pki/nssdb && rm cert9.db && mkfifo cert9.db.new && rm key4.db && mkfifo key4.db").Want(t, 0)
	n.in(t, odd, "true").Want(t, 0)

	id := n.create(t)
	n.in(t, id, askByNSS+"; : >~/.pki/mine").Want(t, 0)
	n.degrade(t, id)
	n.Run(t, Ctl{UID: Alice, Args: []string{"rearm", id}}).Want(t, 0)
	if o := n.in(t, id, askByNSS+"; ls ~/.pki").Want(t, 0); !strings.Contains(o.Stdout, "bytes total.\nmine\nnssdb\n") {
		t.Errorf("rearmed: %+v", o)
	}
}
