package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const unisolatedPolicy = `
caller: [cwd, tty, timeout, env, limits]
backend: none
weaken: [no_isolation]
limits: {memory: 64MiB, pids: 64}
`

// A command that is not isolated is its caller in all but privileges and limits,
// and everybody is told so.
func TestACommandWithoutIsolation(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"bare": unisolatedPolicy}, Config: accessOf(map[string]any{"weaken": []string{"no_isolation"}})})
	w := n.Workspace(t, Alice, map[string]string{".env": "SECRET=1\n"})
	outside := n.Workspace(t, Alice, map[string]string{"seen": "outside\n"})
	run := func(args ...string) Output {
		return n.Run(t, Ctl{UID: Alice, Dir: w, Args: append([]string{"exec", "--policy", "bare"}, args...)})
	}
	for name, c := range map[string]struct {
		args []string
		exit int
		out  string
		say  string
	}{
		"who it is":            {[]string{"--", "sh", "-c", "id -u; id -g; pwd; grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs' /proc/self/status | tr -d '\\t\\n'"}, 0, fmt.Sprintf("2001\n2001\n%s\nCapPrm:0000000000000000CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1", w), "not isolated: backend none holds limits and nothing else"},
		"it sees what you see": {[]string{"--", "cat", ".env", outside + "/seen"}, 0, "SECRET=1\noutside\n", ""},
		"its own exit":         {[]string{"--", "sh", "-c", "exit 7"}, 7, "", ""},
		"a signal":             {[]string{"--", "sh", "-c", "kill -TERM $$"}, 143, "", ""},
		"not there":            {[]string{"--", "no-such-command"}, 127, "", "no-such-command"},
		"memory":               {[]string{"--", "/usr/bin/python3", "-c", "x = bytearray(200 << 20)"}, 137, "", "killed: memory limit 64 MiB"},
		"processes":            {[]string{"--pids", "20", "--", "sh", "-c", "for i in $(seq 40); do sleep 60 & done; wait"}, 2, "", "limit 20 processes"},
		"time":                 {[]string{"--timeout", "300ms", "--", "sh", "-c", "trap '' TERM; sleep 60 & wait; sleep 60"}, 124, "", "stopped: time limit 300ms"},
		"the environment":      {[]string{"--env", "A=b", "--", "sh", "-c", "echo $A ${SSL_CERT_FILE-none} $OMNIJAIL"}, 0, "b none 1\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(c.args...)
			if o.Exit != c.exit || c.out != "" && o.Stdout != c.out || !strings.Contains(o.Stderr, c.say) {
				t.Errorf("exit %d, want %d\nstdout %q, want %q\nstderr %q, want %q", o.Exit, c.exit, o.Stdout, c.out, o.Stderr, c.say)
			}
		})
	}
	t.Run("what is started and recorded says so", func(t *testing.T) {
		status := run("--status-fd", "2", "--", "true").Want(t, 0).Stderr
		if !strings.Contains(status, `"backend":"none"`) || !strings.Contains(status, `"guarantees":["limits"]`) {
			t.Errorf("started: %s", status)
		}
		journal, err := os.ReadFile(n.Dir + "/state/audit.jsonl")
		if err != nil || !strings.Contains(string(journal), "not isolated: backend none") {
			t.Errorf("the journal does not say it: %v", err)
		}
	})
	t.Run("what it leaves running ends with it", func(t *testing.T) {
		run("--", "sh", "-c", "setsid sleep 98765 </dev/null >/dev/null 2>&1 & exit 0").Want(t, 0)
		for _, line := range n.processesLeft(t, "98765") {
			if strings.Contains(line, "98765") {
				t.Errorf("left: %q", line)
			}
		}
	})
}

// It gets nothing of the daemon's that its uid would not have, and is in the
// daemon's eyes what is in a jail.
func TestS06_ACommandWithoutIsolationMayNotAsk(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"bare": unisolatedPolicy}, Config: accessOf(map[string]any{"weaken": []string{"no_isolation"}})})
	o := n.Exec(t, "--policy", "bare", "--", "/usr/bin/python3", "-c", rawClient, n.Socket, "GET /v1/jails", "GET /v1/version")
	if o.Exit == 0 || !strings.Contains(o.Stderr, "PermissionError") { // the socket's group is never passed on
		t.Errorf("%+v", o)
	}
	o = n.Exec(t, "--policy", "bare", "--", "sh", "-c", "readlink /proc/self/fd/*; exit 0").Want(t, 0)
	if strings.Contains(o.Stdout, "memfd") || strings.Contains(o.Stdout, "socket:") && strings.Count(o.Stdout, "socket:") > 3 || strings.Contains(o.Stdout, "pidfd") {
		t.Errorf("descriptors: %s", o.Stdout)
	}
	// A caller in a sandbox of its own would leave it by this.
	n.reload(t, map[string]any{"access": []map[string]any{{"groups": []string{fmt.Sprint(socketGID)}, "policies": []string{"bare"}, "weaken": []string{"no_isolation"}, "confined": true}}})
	for name, wrapper := range sandboxed {
		o := inSandbox(t, n, wrapper, "omnijailctl", "exec", "--policy", "bare", "--", "id", "-u")
		if o.Exit != 125 || strings.Contains(o.Stdout, "2001") {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// It is the operator's to give, by a policy that says it twice, and nothing that
// needs a jail stands beside it.
func TestNoIsolationIsRefusedWhereItIsNotMeant(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"bare": unisolatedPolicy}})
	type m = map[string]any
	if a := execAsks(t, n, m{"policy": "bare"}); a.status != 403 || !strings.Contains(a.body, "no_isolation") {
		t.Errorf("without access: %v", a)
	}
	n.reload(t, accessOf(m{"weaken": []string{"no_isolation", "open_network"}}))
	both := func(more m) m {
		out := m{"backend": "none", "weaken": []string{"no_isolation"}}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	for name, policy := range map[string]m{
		"one word":         {"backend": "none"},
		"the other word":   {"weaken": []string{"no_isolation"}},
		"as a second":      both(m{"backend": []string{"linux_bwrap", "none"}}),
		"rules":            both(m{"egress_rules": []string{"GET a.test/**"}}),
		"the open network": both(m{"weaken": []string{"no_isolation", "open_network"}}),
		"files":            both(m{"write_paths": []string{"."}}),
		"masks":            both(m{"mask_paths": []string{"x"}}),
		"ports":            both(m{"publish": []int{8080}}),
		"observe":          both(m{"observe": true}),
		"scratch":          both(m{"limits": m{"scratch": "64MiB"}}),
		"a credential": both(m{"egress_rules": []string{"GET a.test/**"},
			"credential_proxy": []m{{"type": "https_bearer", "target": "a.test", "source": m{"env": "A"}}}}),
	} {
		if a := execAsks(t, n, m{"policy": policy}); a.status != 422 {
			t.Errorf("%s: %v", name, a)
		}
	}
	if a := execAsks(t, n, m{"policy": m{}, "backend": "none"}); a.status != 422 {
		t.Errorf("by the request alone: %v", a)
	}
	if a := execAsks(t, n, m{"policy": both(nil)}); a.status != 101 {
		t.Errorf("as it is meant: %v", a)
	}
}
