package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	alicesToken = "alice-Yx7wQ2nE5tR8uJ3kLp0v"
	bobsToken   = "bobby-Gt4hN9bV6cX1zA8sDf2q"
)

const bothPolicy = `
caller: [cwd, tty, timeout, env, write, read]
write_paths: ["."]
egress_rules: ["GET api.example.test/**"]
credential_proxy: [{type: https_bearer, target: api.example.test, env: API_TOKEN, source: {env: E2E_TOKEN}}]
`

// shell is a shell in a jail that is told what to do line by line.
type shell struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	dir string
}

// shellOf starts one for a user who has a token.
func shellOf(t testing.TB, n *Node, uid uint32, token string) *shell {
	t.Helper()
	s := &shell{dir: n.Workspace(t, uid, nil)}
	s.cmd = n.Command(t, Ctl{UID: uid, Dir: s.dir, Env: []string{"E2E_TOKEN=" + token}, Args: []string{"exec", "--policy", "both", "--", "sh"}})
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewScanner(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.in.Close(); s.cmd.Wait() })
	return s
}

// do runs a line and returns what it printed.
func (s *shell) do(t testing.TB, line string) string {
	t.Helper()
	fmt.Fprintf(s.in, "{ %s\n} 2>&1; echo; echo --end--\n", line)
	var lines []string
	for s.out.Scan() {
		if s.out.Text() == "--end--" {
			return strings.TrimSpace(strings.Join(lines, "\n"))
		}
		lines = append(lines, s.out.Text())
	}
	t.Fatalf("the jail ended at %q: %q", line, lines)
	return ""
}

func TestS11_TwoUsersAtOnce(t *testing.T) {
	n := NewNode(t, Options{Policy: map[string]string{"both": bothPolicy}})
	alice, bob := shellOf(t, n, Alice, alicesToken), shellOf(t, n, Bob, bobsToken)
	const get = "curl -sS -o /dev/null -w '%{http_code}' "
	for _, s := range []*shell{alice, bob} {
		if got := s.do(t, get+"https://api.example.test/repos/o/r"); got != "200" {
			t.Fatalf("a request of their own: %s", got)
		}
	}
	t.Run("placeholders", func(t *testing.T) {
		mine, theirs := bob.do(t, "echo $API_TOKEN"), alice.do(t, "echo $API_TOKEN")
		if mine == theirs || !strings.Contains(theirs, "oa_cred_") {
			t.Fatalf("placeholders %q and %q", mine, theirs)
		}
		n.Lab.Forget()
		for _, c := range []string{"-H 'Authorization: Bearer " + theirs + "'", "-H 'X-Any: " + theirs + "'", "-u x:" + theirs, "-b a=" + theirs} {
			if got := bob.do(t, get+c+" https://api.example.test/user"); got != "403" {
				t.Errorf("bob with alice's placeholder, %s: %s", c, got)
			}
		}
		second := shellOf(t, n, Alice, alicesToken)
		if got := second.do(t, get+"-H 'Authorization: Bearer "+theirs+"' https://api.example.test/user"); got != "403" {
			t.Errorf("alice's second jail with the first one's placeholder: %s", got)
		}
		if seen := n.Lab.Seen(); len(seen) != 0 {
			t.Errorf("the upstream saw %+v", seen)
		}
		if got := bob.do(t, get+"-H 'Authorization: Bearer "+mine+"' https://api.example.test/user"); got == "403" {
			t.Error("bob's own placeholder is refused, too")
		}
	})
	t.Run("certificate authorities", func(t *testing.T) {
		ca := alice.do(t, "cat /run/omnijail/ca.pem")
		if ca == bob.do(t, "cat /run/omnijail/ca.pem") {
			t.Fatal("both have one CA")
		}
		bob.do(t, "cat > alices.pem <<E\n"+ca+"\nE")
		if got := bob.do(t, "curl -sS --cacert alices.pem https://api.example.test/repos/o/r; echo $?"); !strings.HasSuffix(got, "60") {
			t.Errorf("bob's connection verifies under alice's CA: %s", got)
		}
	})
	t.Run("listeners", func(t *testing.T) {
		alice.do(t, `python3 -c '
import socket, os
l = [socket.create_server(("127.0.0.1", 5000)), socket.create_server(("0.0.0.0", 443))]
try:
    l.append(socket.socket(socket.AF_UNIX)); l[2].bind("\0alices"); l[2].listen()
except OSError: pass # linux_landlock makes none on some kernels
if os.fork(): os._exit(0)
os.close(0); os.close(1); os.close(2)
for s in l[:1] * 2: s.accept()[0].send(b"alices")' `)
		got := bob.do(t, `python3 -c '
import socket
for kind, to in ((socket.AF_INET, ("127.0.0.1", 5000)), (socket.AF_UNIX, "\0alices"), (socket.AF_INET, ("198.18.0.1", 5000))):
    try:
        s = socket.socket(kind); s.connect(to); s.sendall(b"\0"); print("reached", to, s.recv(9))
    except OSError as e: print("no")'`)
		if strings.Contains(got, "alices") {
			t.Errorf("bob reaches %s", got)
		}
		if got := alice.do(t, `python3 -c 'import socket; print(socket.create_connection(("127.0.0.1", 5000)).recv(9))'`); got != "b'alices'" {
			t.Errorf("alice does not reach her own: %s", got)
		}
		// A listener of alice's on an intercepted port gets none of her connections.
		if got := alice.do(t, get+"https://api.example.test/repos/o/r"); got != "200" {
			t.Errorf("with a listener on port 443: %s", got)
		}
	})
	t.Run("files", func(t *testing.T) {
		alice.do(t, "echo alices > mine; chmod 600 mine; mkdir -m 700 dir; echo alices > dir/file")
		for _, args := range [][]string{{"--read", alice.dir + "/mine"}, {"--read", alice.dir + "/dir/file"}, {"--write", alice.dir + "/dir"}, {"--cwd", alice.dir + "/dir"}} {
			o := n.Run(t, Ctl{UID: Bob, Args: append(append([]string{"exec"}, args...), "--", "cat", alice.dir+"/mine", alice.dir+"/dir/file", "file")})
			if o.Exit == 0 || strings.Contains(o.Stdout, "alices") {
				t.Errorf("%q: %+v", args, o)
			}
		}
		if got := bob.do(t, "ls "+alice.dir+"; ls "+filepath.Dir(alice.dir)+"; ls /tmp /dev/shm; ps -e | wc -l; touch /tmp/bobs /dev/shm/bobs"); strings.Contains(got, "alices") || strings.Contains(got, "mine") {
			t.Errorf("bob sees %s", got)
		}
		if got := alice.do(t, "ls /tmp /dev/shm"); strings.Contains(got, "bobs") {
			t.Errorf("alice sees %s", got)
		}
	})
	t.Run("egress processes", func(t *testing.T) { egressApart(t, n, alice, bob) })
}

// egressApart looks at what each user's egress process holds and who is hurt by
// the end of one.
func egressApart(t *testing.T, n *Node, alice, bob *shell) {
	owners := map[string]int{} // pid by the token that it holds
	for _, pid := range egressOf(t, n) {
		m := memory(t, pid)
		a, b := found(m, alicesToken), found(m, bobsToken)
		if len(a) > 0 && len(b) > 0 {
			t.Errorf("process %d holds both users' tokens", pid)
		}
		if len(a) > 0 {
			owners["alice"] = pid
		}
		if len(b) > 0 {
			owners["bob"] = pid
		}
	}
	if len(owners) != 2 {
		t.Fatalf("the search finds %v", owners)
	}
	if err := syscall.Kill(owners["alice"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for alice.out.Scan() {
	}
	alice.cmd.Wait()
	if code := alice.cmd.ProcessState.ExitCode(); code != 125 {
		t.Errorf("alice's jail without its egress process: exit %d", code)
	}
	if got := bob.do(t, "curl -sS -o /dev/null -w '%{http_code}' https://api.example.test/repos/o/r"); got != "200" {
		t.Errorf("bob's requests then: %s", got)
	}
	next := shellOf(t, n, Alice, alicesToken)
	if got := next.do(t, "curl -sS -o /dev/null -w '%{http_code}' https://api.example.test/repos/o/r"); got != "200" {
		t.Errorf("alice's next jail: %s", got)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", owners["bob"])); err != nil {
		t.Errorf("bob's egress process is gone: %v", err)
	}
}
