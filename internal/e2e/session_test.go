package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/omnijail/omnijail/api"
)

// create makes a session jail as alice and ends it with the test.
func (n *Node) create(t testing.TB, args ...string) (id string) {
	t.Helper()
	o := n.Run(t, Ctl{UID: Alice, Args: append([]string{"create"}, args...)}).Want(t, 0)
	id = strings.TrimSpace(o.Stdout)
	t.Cleanup(func() {
		if n.cmd != nil {
			n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}})
		}
	})
	return id
}

// in runs a shell script as one command of a session jail.
func (n *Node) in(t testing.TB, id, script string, flags ...string) Output {
	t.Helper()
	args := append([]string{"exec", "--jail", id}, flags...)
	return n.Run(t, Ctl{UID: Alice, Args: append(args, "--", "sh", "-c", script)})
}

func (n *Node) inspect(t testing.TB, id string) (j api.Jail) {
	t.Helper()
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"inspect", id}}).Want(t, 0)
	if err := json.Unmarshal([]byte(o.Stdout), &j); err != nil {
		t.Fatal(err)
	}
	return j
}

// The commands of a session share its home, /tmp and /dev/shm, and nothing that
// was not theirs: each is a sandbox of its own with processes of its own.
func TestCommandsOfASessionShareFiles(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	id := n.create(t)
	n.in(t, id, "echo home >~/a; echo tmp >/tmp/b; echo shm >/dev/shm/c; sleep 1000 & exit 7").Want(t, 7)
	o := n.in(t, id, "cat ~/a /tmp/b /dev/shm/c; ps -e 2>/dev/null | grep -c sleep; echo $OMNIJAIL_ID").Want(t, 0)
	if want := "home\ntmp\nshm\n0\n" + id + "\n"; o.Stdout != want {
		t.Errorf("the second command saw:\n%swant:\n%s", o.Stdout, want)
	}
	machine := "cat /etc/machine-id"
	first, second, other := n.in(t, id, machine).Stdout, n.in(t, id, machine).Stdout, n.Exec(t, "--", "sh", "-c", machine).Stdout
	node, _ := os.ReadFile("/etc/machine-id") // not every node has one
	if len(first) != 33 || first != second || first == other || first == string(node) {
		t.Errorf("the jail is machine %q and %q, another %q, the node %q", first, second, other, node)
	}
	if o := n.Exec(t, "--", "sh", "-c", "ls -A ~ /tmp | grep -c '^[ab]$'"); o.Stdout != "0\n" {
		t.Errorf("another jail sees files of the session: %s", o.Stdout)
	}
}

// A server of one command is reached by another on the loopback that they share.
func TestCommandsOfASessionShareANetwork(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	id := n.create(t, "--allow", "GET example.test/**")
	server := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--jail", id, "--", "python3", "-u", "-c",
		"import http.server as h; s = h.HTTPServer(('127.0.0.1', 8080), h.SimpleHTTPRequestHandler); print('up'); s.serve_forever()"}})
	server.says(t, "up")
	n.in(t, id, "curl -sS -o /dev/null http://127.0.0.1:8080/ && curl -sS -o /dev/null https://example.test/").Want(t, 0)
	if o := n.in(t, id, "curl -sS https://other.test/"); !strings.Contains(o.Stderr, "hint: omnijailctl create --allow '") {
		t.Errorf("a refusal in a session says %s", o.Stderr)
	}
	if got := n.inspect(t, id); got.Commands != 1 || !got.Session || got.State != api.StateUp || got.Expires.IsZero() {
		t.Errorf("inspect says %+v", got)
	}
	n.Run(t, Ctl{UID: Alice, Args: []string{"kill", id}}).Want(t, 0)
	server.finish(t).WantReason(t, "ended by omnijailctl kill")
	n.in(t, id, "curl -sS -m 5 http://127.0.0.1:8080/").Want(t, 7)
}

// What a command arranges in the shared home, root walks through when the next one
// is staged. Without the defence the link leads it to make a directory outside, and
// to give it to the user.
func TestS26_ALinkInASharedHomeLeadsRootNowhere(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	home := n.Home(t, Alice)
	victim := filepath.Join(n.Dir, "victim")
	granted := filepath.Join(home, "deep", "er", "project")
	if err := errors.Join(os.Mkdir(victim, 0o755), os.MkdirAll(granted, 0o755), os.Chown(granted, Alice, Alice)); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]string{
		"a link to the outside": "mv ~/deep ~/moved && ln -s " + victim + " ~/deep",
		"a link further in":     "mv ~/deep/er ~/moved && ln -s " + victim + " ~/deep/er",
		"a file":                "mv ~/deep ~/moved && touch ~/deep",
	} {
		t.Run(name, func(t *testing.T) {
			id := n.create(t, "--read", granted)
			n.in(t, id, plant).Want(t, 0)
			if o := n.in(t, id, "true").Want(t, 125); !strings.Contains(o.Stderr, "has replaced it") {
				t.Errorf("it says: %s", o.Stderr)
			}
			if left, err := os.ReadDir(victim); err != nil || len(left) != 0 {
				t.Errorf("root made %v outside, %v", left, err)
			}
		})
	}
}

// A jail of its own mind does not keep a process of the same uid from ending it,
// and nobody else can do anything to it.
func TestS14_SessionsAreTheirOwners(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	id := n.create(t)
	unknown := "j0123456789abcdef"
	for _, args := range [][]string{{"exec", "--jail", id, "--", "true"}, {"kill", id}, {"rm", id}, {"inspect", id}} {
		a := n.Run(t, Ctl{UID: Bob, Args: args})
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], id, unknown)
		}
		b := n.Run(t, Ctl{UID: Bob, Args: args})
		if a.Exit == 0 || a.Exit != b.Exit || strings.ReplaceAll(a.Stderr, id, unknown) != b.Stderr {
			t.Errorf("%q: %+v, unknown %+v", args, a, b)
		}
	}
	if o := n.Run(t, Ctl{UID: Bob, Args: []string{"ls"}}).Want(t, 0); strings.Contains(o.Stdout, id) {
		t.Errorf("bob sees it: %s", o.Stdout)
	}
	for _, args := range [][]string{{"exec", "--jail", ""}, {"rm", ""}, {"attach", ""}, {"logs", ""}} {
		args = append([]string{"__complete"}, args...)
		if o := n.Run(t, Ctl{UID: Alice, Args: args}).Want(t, 0); !strings.Contains(o.Stdout, id) {
			t.Errorf("%q completes to %s", args, o.Stdout)
		}
		if o := n.Run(t, Ctl{UID: Bob, Args: args}).Want(t, 0); strings.Contains(o.Stdout, id) {
			t.Errorf("%q completes for bob to %s", args, o.Stdout)
		}
	}
	n.in(t, id, "true").Want(t, 0)
	n.Run(t, Ctl{UID: 0, Args: []string{"exec", "--jail", id, "--", "sh", "-c", "test $(id -u) = 2001"}}).Want(t, 0)
	n.Run(t, Ctl{UID: 0, Args: []string{"rm", id}}).Want(t, 0)
	n.in(t, id, "true").Want(t, 125)
}

func TestS14_ACommandHasWhatTheJailWasGiven(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"closed": "caller: [cwd]\n"}})
	open, closed := n.create(t), n.create(t, "--policy", "closed")
	elsewhere := n.Workspace(t, Alice, map[string]string{"x": ""})
	if o := n.in(t, open, "true", "--cwd", elsewhere).Want(t, 125); !strings.Contains(o.Stderr, "is not granted") {
		t.Errorf("another directory: %s", o.Stderr)
	}
	if o := n.in(t, closed, "true", "--env", "A=b").Want(t, 125); !strings.Contains(o.Stderr, "lets a request set only") {
		t.Errorf("a variable of a closed policy: %s", o.Stderr)
	}
	n.in(t, open, "test $A = b", "--env", "A=b").Want(t, 0)
	n.in(t, closed, "true").Want(t, 0)
	for _, field := range []string{"policy", "add", "memory", "user", "publish", "secret_fds"} {
		a := ask(t, n, Alice, "POST", "/v1/jails/"+open+"/exec", `{"argv":["true"],"`+field+`":null}`, "Connection: Upgrade", "Upgrade: omnijail-exec")
		if a.status != 400 {
			t.Errorf("a command with %s: %v", field, a)
		}
	}
}

func TestS31_SessionsEndByAgeAndRevocation(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"short": "max_age: 1s\ncaller: [cwd]\n", "team": "caller: [cwd]\n"}})
	gone := func(id string) func() bool {
		return func() bool { return ask(t, n, Alice, "GET", "/v1/jails/"+id, "").status == 404 }
	}
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"create", "--policy", "short"}}).Want(t, 0)
	until(t, "max_age ends the jail", gone(strings.TrimSpace(o.Stdout)))

	id := n.create(t, "--policy", "team")
	running := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--jail", id, "--", "sh", "-c", "echo up; sleep 1000"}})
	running.says(t, "up")
	n.write(t, "policies/team.yaml", "description: tightened\ncaller: [cwd]\n")
	n.cmd.Process.Signal(syscall.SIGHUP)
	running.finish(t).WantReason(t, "has changed")
	until(t, "the revoked jail is gone", gone(id))
}

// Ten thousand processes, one after the other, and the jail is as good as before.
func TestASessionOfManyProcesses(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	id := n.create(t)
	n.in(t, id, "i=0; while [ $i -lt 10000 ]; do (:); i=$((i+1)); done; echo $i >~/n").Want(t, 0)
	if o := n.in(t, id, "cat ~/n"); o.Stdout != "10000\n" {
		t.Errorf("afterwards: %+v", o)
	}
}

// Sessions come and go and leave nothing: no process, cgroup, network or
// descriptor.
func TestSessionsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	n.in(t, n.create(t), "true").Want(t, 0) // what is started once is there
	round := func() {
		id := n.create(t)
		n.in(t, id, "setsid sleep 1000 & echo x >~/x").Want(t, 0)
		n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}}).Want(t, 0)
		until(t, "the jail is gone", func() bool { return ask(t, n, Alice, "GET", "/v1/jails/"+id, "").status == 404 })
		if _, err := os.Stat(filepath.Join(n.groups(t), "jail-"+id)); err == nil {
			t.Errorf("the cgroup of %s is left", id)
		}
	}
	count := func() int { return len(descriptors(t, n.PID())) }
	round()
	before := count()
	for range 8 {
		round()
	}
	until(t, "the daemon holds what it held before", func() bool { return count() <= before+4 })
}

// A process that has given up a group does not get it back in a jail that was made
// while its user's processes had it.
func TestS04_AGroupGivenUpIsNotInAnEarlierJail(t *testing.T) {
	t.Parallel()
	const team = 2200
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"team": "caller: [cwd]\ngroups: [\"2200\"]\n"}})
	as := func(groups []uint32, args ...string) (string, error) {
		cmd := n.Command(t, Ctl{UID: Alice, Args: args})
		cmd.SysProcAttr.Credential.Groups = groups
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	id, err := as([]uint32{socketGID, team}, "create", "--policy", "team")
	if err != nil {
		t.Fatalf("%v: %s", err, id)
	}
	if out, err := as([]uint32{socketGID, team}, "exec", "--jail", id, "--", "id", "-G"); err != nil || !strings.Contains(out, "2200") {
		t.Errorf("with the group: %v: %s", err, out)
	}
	if out, err := as([]uint32{socketGID}, "exec", "--jail", id, "--", "id", "-G"); err == nil || !strings.Contains(out, "which this process does not hold") {
		t.Errorf("without the group: %v: %s", err, out)
	}
}
