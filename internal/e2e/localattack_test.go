package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The attacks A79, A81, A84, A85 and A89: others on the same node.

const neighboursPolicy = `
write_paths: ["."]
proxy_env: true
egress_rules: ["GET api.example.test/**"]
credential_proxy: [{type: https_bearer, target: api.example.test, source: {env: E2E_TOKEN}}]
`

// A79: a jail's network, proxy and listeners are in its own namespace. A command of
// another jail, of the same user or not, has no address at which to ask for them.
func TestA79_AnotherJailsProxy(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"rich": neighboursPolicy, "poor": "egress_rules: ['GET other.test/**']\n"}})
	create := n.Run(t, Ctl{UID: Alice, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{"create", "--policy", "rich"}}).Want(t, 0)
	rich := strings.TrimSpace(create.Stdout)
	t.Cleanup(func() { n.Run(t, Ctl{UID: Alice, Args: []string{"rm", rich}}) })
	const own = `curl -sS -o /dev/null -w '%{http_code} ' https://api.example.test/user; python3 -c 'import socket; print(socket.gethostbyname("api.example.test"))'`
	code, address, _ := strings.Cut(strings.TrimSpace(n.in(t, rich, own).Want(t, 0).Stdout), " ")
	if code != "200" || address == "" {
		t.Fatalf("the jail's own request: %s %s", code, address)
	}
	before := n.Lab.Connections()
	script := `for p in http://127.0.0.1:3128 'http://[::1]:3128'; do curl -s -x $p https://api.example.test/user; echo $?; done
		curl -sk --connect-to api.example.test:443:` + address + `:443 https://api.example.test/user; echo $?
		curl -s https://api.example.test/user; echo $?`
	for _, uid := range []uint32{Alice, Bob} {
		o := n.Run(t, Ctl{UID: uid, Args: []string{"exec", "--policy", "poor", "--", "bash", "-c", script}}).Want(t, 0)
		// Refused at once, an end to the handshake, and no such name.
		if o.Stdout != "7\n7\n35\n6\n" {
			t.Errorf("uid %d: %q", uid, o.Stdout)
		}
	}
	if got := n.Lab.Connections(); got != before {
		t.Errorf("%d connections reached the upstream", got-before)
	}
}

// A81: the process that holds a secret cannot be looked into by others of its uid, and
// says nothing of it when it crashes: no core, no trace.
func TestA81_TheHolderOfASecretIsOpaque(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"rich": neighboursPolicy}})
	o := n.Run(t, Ctl{UID: Alice, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{"create", "--policy", "rich"}}).Want(t, 0)
	id := strings.TrimSpace(o.Stdout)
	n.in(t, id, "curl -sSf -o /dev/null https://api.example.test/user").Want(t, 0)
	pids := egressOf(t, n)
	if len(pids) != 1 || found(memory(t, pids[0]), Token) == nil {
		t.Fatalf("egress processes %v; the secret is not where it is used", pids)
	}
	proc := fmt.Sprintf("/proc/%d/", pids[0])
	limits, err := os.ReadFile(proc + "limits")
	if err != nil || !regexp.MustCompile(`Max core file size +1 +1 `).Match(limits) {
		t.Errorf("cores: %s %v", limits, err)
	}
	asUser(t, egressUID, func() {
		for _, name := range []string{"mem", "environ", "maps", "fd/0", "root", "syscall"} {
			if f, err := os.Open(proc + name); err == nil {
				f.Close()
				t.Errorf("another process of its uid opens %s", name)
			}
		}
		if err := unix.PtraceSeize(pids[0]); err == nil {
			t.Error("another process of its uid traces it")
		}
	})
	if err := unix.Kill(pids[0], unix.SIGABRT); err != nil {
		t.Fatal(err)
	}
	until(t, "it has ended", func() bool { return len(egressOf(t, n)) == 0 })
	n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}})
	if names := found([]byte(n.Log()), Token); names != nil || strings.Contains(n.Log(), "goroutine ") {
		t.Errorf("its end says %v:\n%s", names, n.Log())
	}
	searchFiles(t, n.Dir, Token)
}

// A84: a repository that was cloned brings a policy of its own. Nothing that it names
// is run or read before its user has trusted these very words, and it changes nothing
// of another policy.
func TestA84_ARepositorysOwnPolicy(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	out := n.Workspace(t, Alice, map[string]string{"token": Token})
	mark := filepath.Join(out, "mark")
	if err := os.Chmod(filepath.Join(out, "token"), 0o600); err != nil {
		t.Fatal(err)
	}
	policy := fmt.Sprintf("write_paths: ['.']\negress_rules: ['* api.example.test/**']\ncredential_proxy:\n"+
		"  - {type: https_bearer, target: api.example.test, resolve: start, source: {command: [touch, %s]}}\n", mark)
	dir := n.Workspace(t, Alice, map[string]string{".omnijail.yaml": policy, "base.yaml": policy, "thief.yaml": strings.Replace(policy, "command: [touch, "+mark+"]", "file: "+out+"/token", 1)})
	for _, args := range [][]string{nil, {"--policy", "thief.yaml"}, {"--policy", "base.yaml"}} {
		n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append(append([]string{"exec"}, args...), "--", "true")}).wantRefused(t, "policy trust")
	}
	wantNone(t, mark)
	o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "offline", "--", "curl", "-sS", "https://api.example.test/user"}})
	if o.Exit == 0 || n.Lab.Connections() != 0 {
		t.Errorf("another policy was widened: exit %d, %s", o.Exit, o.Stdout)
	}
	wantNone(t, mark)
	// What was trusted is what may run; another word in it, and it is new.
	n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"policy", "trust", "thief.yaml"}}).Want(t, 0)
	n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "thief.yaml", "--", "curl", "-sSf", "-o", "/dev/null", "https://api.example.test/user"}}).Want(t, 0)
	if err := os.WriteFile(filepath.Join(dir, "thief.yaml"), []byte(policy), 0o644); err != nil {
		t.Fatal(err)
	}
	n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "thief.yaml", "--", "true"}}).wantRefused(t, "policy trust")
	wantNone(t, mark)
}

// A85: the daemon is root and reads nothing for one user that this user could not:
// another's file, another's command's answer, the operator's, another's session.
func TestA85_AnotherUsersCredential(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"rich": neighboursPolicy}})
	files := n.Workspace(t, Bob, map[string]string{"token": bobsToken})
	token := filepath.Join(files, "token")
	roots := n.write(t, "roots-token", "root-"+bobsToken)
	if err := errors.Join(os.Chmod(token, 0o600), os.Chmod(roots, 0o600), os.Symlink(token, filepath.Join(n.Project(t, Alice), "link"))); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{
		"a file":                 "{file: " + token + "}",
		"root's":                 "{file: " + roots + "}",
		"by a link of one's own": "{file: " + filepath.Join(n.Project(t, Alice), "link") + "}",
		"by a command":           "{command: [/bin/cat, " + token + "]}",
		"of the unit":            "{systemd: corp}",
	} {
		n.policies(t, map[string]string{"want": "egress_rules: ['GET api.example.test/**']\ncredential_proxy: [{type: https_bearer, target: api.example.test, resolve: start, source: " + source + "}]\n"})
		o := n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--policy", "want", "--", "curl", "-sS", "https://api.example.test/user"}})
		if o.Exit == 0 || strings.Contains(o.Stdout+o.Stderr, bobsToken) {
			t.Errorf("%s: exit %d, %s%s", name, o.Exit, o.Stdout, o.Stderr)
		}
	}
	o := n.Run(t, Ctl{UID: Bob, Env: []string{"E2E_TOKEN=" + bobsToken}, Args: []string{"create", "--policy", "rich"}}).Want(t, 0)
	id := strings.TrimSpace(o.Stdout)
	t.Cleanup(func() { n.Run(t, Ctl{UID: Bob, Args: []string{"rm", id}}) })
	for _, uid := range []uint32{Alice, Outsider} {
		o := n.Run(t, Ctl{UID: uid, Args: []string{"exec", "--jail", id, "--", "curl", "-sS", "https://api.example.test/user"}})
		if o.Exit == 0 || o.Stdout != "" {
			t.Errorf("uid %d in bob's session: exit %d, %s", uid, o.Exit, o.Stdout)
		}
	}
	if n.Lab.Connections() != 0 || strings.Contains(n.Log(), bobsToken) {
		t.Errorf("%d connections; the log:\n%s", n.Lab.Connections(), n.Log())
	}
}

// A89: the daemon makes its sockets where nobody else can put, swap or link
// anything, and what lies in their place from an earlier time is not followed.
func TestA89_SocketsWhereOthersWrite(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	n.Stop(t)
	home := n.Home(t, Alice)
	open, sticky := filepath.Join(n.Dir, "open"), filepath.Join(n.Dir, "sticky")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o777), os.Mkdir(sticky, 0o755), os.Chmod(sticky, os.ModeSticky|0o777), os.Symlink(home, n.Dir+"/alias")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{home, open, sticky, n.Dir + "/alias"} {
		if out, err := n.second("--socket", dir+"/s"); err == nil || !strings.Contains(out, "root") {
			t.Errorf("in %s: %v %s", dir, err, out)
		}
		n.configure(t, Options{NoLab: true, Config: map[string]any{"metrics": map[string]any{"socket": dir + "/m"}}})
		if out, err := n.second(); err == nil || !strings.Contains(out, "root") {
			t.Errorf("metrics in %s: %v %s", dir, err, out)
		}
		n.configure(t, Options{NoLab: true})
	}
	kept := filepath.Join(home, "kept")
	if err := errors.Join(os.WriteFile(kept, []byte("hers"), 0o600), os.Chown(kept, Alice, Alice), os.Symlink(kept, n.Socket)); err != nil {
		t.Fatal(err)
	}
	n.Start(t)
	n.Exec(t, "--", "true").Want(t, 0)
	if st, err := os.Lstat(kept); err != nil || st.Mode() != 0o600 {
		t.Errorf("the file behind a link: %v %v", st.Mode(), err)
	}
	var dial error
	asUser(t, Outsider, func() {
		c, err := net.Dial("unix", n.Socket)
		if err == nil {
			c.Close()
		}
		dial = err
	})
	if st, err := os.Lstat(n.Socket); err != nil || st.Mode() != os.ModeSocket|0o660 || dial == nil {
		t.Errorf("the socket: %v %v; somebody outside of its group: %v", st, err, dial)
	}
}
