package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// asAlice starts a program as alice from a shell of root's that has made a sandbox.
const asAlice = "setpriv --reuid 2001 --regid 2001 --groups 2100 "

// sandboxed runs the rest of a command line as alice in the sandboxes that agents are
// kept in.
var sandboxed = map[string][]string{
	"user namespace":       {"sh", "-c", asAlice + `unshare -Ur "$0" "$@"`},
	"mount namespace":      {"sh", "-c", `exec unshare -m ` + asAlice + `"$0" "$@"`},
	"pid namespace":        {"sh", "-c", `exec unshare -p -f ` + asAlice + `"$0" "$@"`},
	"no new privileges":    {"sh", "-c", `exec ` + asAlice + `--no-new-privs "$0" "$@"`},
	"bubblewrap":           {"sh", "-c", `exec bwrap --dev-bind / / ` + asAlice + `"$0" "$@"`},
	"bubblewrap of alices": {"sh", "-c", asAlice + `bwrap --unshare-user --dev-bind / / "$0" "$@"`},
}

// rawClient asks without any of omnijailctl's own care.
const rawClient = `
import socket, sys
for line in sys.argv[2:]:
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall((line + " HTTP/1.1\r\nHost: omnijail\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").encode())
    b = b""
    while c := s.recv(65536): b += c
    print(b.decode().replace("\r\n", " "))
`

// inSandbox runs a program as alice in a sandbox, or outside with no wrapper.
func inSandbox(t testing.TB, n *Node, wrapper []string, argv ...string) Output {
	t.Helper()
	cmd := n.Command(t, Ctl{UID: Alice})
	if argv[0] == "omnijailctl" {
		argv[0] = cmd.Path
	}
	cmd.SysProcAttr = nil
	if wrapper == nil {
		wrapper = []string{"sh", "-c", "exec " + asAlice + `"$0" "$@"`}
	}
	cmd.Args = slices.Concat(wrapper, argv)
	var err error
	if cmd.Path, err = exec.LookPath(wrapper[0]); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run()
	return Output{Stdout: out.String(), Stderr: errs.String(), Exit: cmd.ProcessState.ExitCode()}
}

func TestS06_ConfinedPeersAreRefused(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	secret := filepath.Join(n.Home(t, Alice), "outside-the-cage")
	if err := os.WriteFile(secret, []byte("uncaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"omnijailctl", "exec", "--read", secret, "--", "cat", secret}
	if o := inSandbox(t, n, nil, slices.Clone(args)...); o.Stdout != "uncaged" {
		t.Fatalf("not even an unconfined peer is served: %+v", o)
	}
	requests := []string{"GET /v1/jails", "GET /v1/events", "GET /v1/policies", "GET /v1/version", "POST /v1/exec", "GET /nowhere"}
	for name, wrapper := range sandboxed {
		t.Run(name, func(t *testing.T) {
			if o := inSandbox(t, n, wrapper, slices.Clone(args)...); o.Exit != 125 || strings.Contains(o.Stdout, "uncaged") {
				t.Errorf("the cage is open: %+v", o)
			}
			o := inSandbox(t, n, wrapper, append([]string{"python3", "-c", rawClient, n.Socket}, requests...)...)
			if c := strings.Count(o.Stdout, "403 Forbidden"); c != len(requests) || strings.Count(o.Stdout, "peer_confined") != c {
				t.Errorf("served: %s%s", o.Stdout, o.Stderr)
			}
		})
	}
}

// A peer whose root is another finds the socket by a second name of it.
func TestS06_APeerWithAnotherRoot(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	cage := filepath.Join(n.Dir, "cage")
	if err := errors.Join(os.Mkdir(cage, 0o755), os.Link(n.Socket, filepath.Join(cage, "s"))); err != nil {
		t.Fatal(err)
	}
	compile(t, cage, "client", `
		#include <stdio.h>
		#include <string.h>
		#include <sys/socket.h>
		#include <sys/un.h>
		#include <unistd.h>
		int main(void) {
			struct sockaddr_un a = {AF_UNIX, "/s"};
			char b[4096], *q = "GET /v1/jails HTTP/1.1\r\nHost: omnijail\r\nConnection: close\r\n\r\n";
			int s = socket(AF_UNIX, SOCK_STREAM, 0), k;
			if (connect(s, (void *)&a, sizeof a)) { perror("connect"); return 1; }
			write(s, q, strlen(q));
			while ((k = read(s, b, sizeof b)) > 0) write(1, b, k);
			return 0;
		}`, "-static")
	for root, want := range map[string]string{cage: "peer_confined", "": "200 OK"} {
		client := exec.Command("/client")
		if root == "" {
			client = exec.Command("/usr/bin/python3", "-c", rawClient, n.Socket, "GET /v1/jails")
		}
		client.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: Alice, Gid: Alice, Groups: []uint32{socketGID}}}
		client.Dir = "/"
		if out, err := client.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("root %q: %v, %s", root, err, out)
		}
	}
}

func TestS06_AConfinedPeerGetsWhatIsNamedForIt(t *testing.T) {
	n := NewNode(t, Options{
		NoLab:  true,
		Policy: map[string]string{"cage": "caller: [cwd, tty, timeout]\n", "other": "caller: [cwd]\n"},
		Config: map[string]any{"access": []map[string]any{
			{"groups": []string{fmt.Sprint(socketGID)}, "confined": true, "policies": []string{"cage"}},
			{"groups": []string{fmt.Sprint(socketGID)}, "policies": []string{"own", "*"}, "sources": []string{"env", "file", "command"}},
		}},
	})
	file := filepath.Join(n.Workspace(t, Alice, map[string]string{"p.yaml": "read_paths: [\"~\"]\n"}), "p.yaml")
	wrapper := sandboxed["no new privileges"]
	if o := inSandbox(t, n, wrapper, "omnijailctl", "exec", "--policy", "cage", "--", "echo", "served"); o.Stdout != "served\n" {
		t.Errorf("the named policy: %+v", o)
	}
	for _, args := range [][]string{
		{"--policy", file}, {"--policy", "other"}, {"--policy", "offline"}, {"--policy", "cage", "--read", "/var/tmp"}, {"--policy", "cage", "--write", "."},
		{"--policy", "cage", "--allow", "GET x.test/**"}, {"--policy", "cage", "--preset", "github-read"}, {"--policy", "cage", "--env", "A=b"},
	} {
		if o := inSandbox(t, n, wrapper, slices.Concat([]string{"omnijailctl", "exec"}, args, []string{"--", "true"})...); o.Exit != 125 {
			t.Errorf("%q: %+v", args, o)
		}
	}
}

func TestS13_TheEgressUserMayNotAsk(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	for _, op := range operations(t) {
		path := strings.NewReplacer("{id}", "x", "{name}", "offline").Replace(op[1])
		if a := ask(t, n, egressUID, op[0], path, "{}"); a.status != 403 {
			t.Errorf("%s %s as the egress user, though in the group: %v", op[0], path, a)
		}
	}
}

// A socket that a jail has planted where the user's tools look gets nothing.
func TestS15_APlantedServerGetsNothing(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"p.yaml": "egress_rules: [\"GET x.test/**\"]\ncredential_proxy: [{type: https_bearer, target: x.test, source: {env: E2E_TOKEN}}]\n"})
	path := filepath.Join(dir, "s")
	var l *net.UnixListener
	asUser(t, Alice, func() {
		var err error
		if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path}); err != nil {
			t.Error(err)
		}
	})
	defer l.Close()
	got := make(chan string, 8)
	go func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				close(got)
				return
			}
			b, oob := make([]byte, 1<<16), make([]byte, 1024)
			k, ok, _, _, _ := c.ReadMsgUnix(b, oob)
			if k > 0 || ok > 0 {
				got <- fmt.Sprintf("%d bytes %q, %d of descriptors", k, b[:k], ok)
			}
			c.Close()
		}
	}()
	for _, args := range [][]string{{"exec", "--policy", dir + "/p.yaml", "--", "true"}, {"ls"}, {"events"}, {"exec", "--", "true"}} {
		o := n.Run(t, Ctl{UID: Alice, Env: []string{"OMNIJAIL_SOCKET=" + path, "E2E_TOKEN=" + Token}, Args: args})
		if o.Exit == 0 || !strings.Contains(o.Stderr, path) {
			t.Errorf("%v: exit %d, %s", args, o.Exit, o.Stderr)
		}
	}
	n.Run(t, Ctl{UID: Alice, Dir: dir, Env: []string{"OMNIJAIL_SOCKET=s"}, Args: []string{"exec", "--", "true"}}).wantRefused(t, "absolute")
	// The real socket through a directory of alice's is not trusted either.
	if err := os.Symlink(filepath.Dir(n.Socket), filepath.Join(dir, "run")); err != nil {
		t.Fatal(err)
	}
	n.Run(t, Ctl{UID: Alice, Env: []string{"OMNIJAIL_SOCKET=" + dir + "/run/s"}, Args: []string{"exec", "--", "true"}}).wantRefused(t, "root")
	l.Close()
	for g := range got {
		t.Errorf("the planted server got %s", g)
	}
}
