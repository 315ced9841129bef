package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/lab"
)

// Ids of the tests' own users and groups; none has an entry in a database.
const (
	Alice     = 2001
	Bob       = 2002
	Outsider  = 2003 // not in the socket's group
	socketGID = 2100
	egressUID = 2101
)

// Token is the credential of the suite. It is searched for afterwards.
const Token = "ghp_e2eRealSecretToken0123456789abcdef"

// hang bounds what should not take long; no test passes because it expired.
const hang = 60 * time.Second

// backendVariable has the whole suite run under another backend than the node's
// own: OMNIJAIL_E2E_BACKEND=linux_landlock go test ./internal/e2e
const backendVariable = "OMNIJAIL_E2E_BACKEND"

// interceptionVariable has the whole suite run with another interception than the
// node's own: OMNIJAIL_E2E_INTERCEPTION=ports go test ./internal/e2e
const interceptionVariable = "OMNIJAIL_E2E_INTERCEPTION"

// Options change a Node from its defaults.
type Options struct {
	Config map[string]any                // keys laid over the configuration
	Policy map[string]string             // root-owned policies by name
	DNS    string                        // the node's resolver for names that the lab does not serve
	Hosts  func(*Node) map[string]string // more of upstream.hosts, once the lab runs
	NoLab  bool
	// Bubblewrap says that the test is of what only that has, whatever the suite runs
	// under: jails that wait, and Unix sockets with names.
	Bubblewrap bool
	Apart      bool // the daemon has a session of its own, as a service has
}

// Node is one daemon under test.
type Node struct {
	Dir      string // root-owned; run/, state/, policies/ below
	Socket   string
	Lab      *lab.Upstream
	Bin      string // directory of the programs
	apart    bool
	cmd      *exec.Cmd
	log      *syncBuffer
	exited   chan struct{}
	homes    map[uint32]string
	confPath string
}

var build struct {
	sync.Once
	dir string
	err error
}

// raceVariable has the daemon of each Node run under the race detector.
const raceVariable = "OMNIJAIL_E2E_RACE"

// programs builds the three programs once, static, as they are shipped, and the
// manual beside them.
func programs() (string, error) {
	build.Do(func() {
		build.dir, build.err = os.MkdirTemp("", "omnijail-e2e-bin-")
		if build.err != nil {
			return
		}
		build.err = os.Chmod(build.dir, 0o755)
		cmd := exec.Command("go", "build", "-trimpath", "-tags", "netgo,osusergo", "-o", build.dir+"/", "./cmd/...")
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			build.err = fmt.Errorf("build: %w\n%s", err, out)
		}
		if build.err == nil {
			build.err = manual(build.dir + "/man")
		}
		if build.err == nil && os.Getenv(raceVariable) != "" {
			build.err = racing(build.dir)
		}
	})
	return build.dir, build.err
}

func manual(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "run", "-tags", "man", "./cmd/omnijailctl", "man", dir)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("manual: %w\n%s", err, out)
	}
	return nil
}

// racing builds the daemon anew, for the race detector; static, since the egress
// process has no libraries in its cage.
func racing(dir string) error {
	cmd := exec.Command("go", "build", "-race", "-tags", "netgo,osusergo", "-ldflags", "-linkmode external -extldflags -static", "-o", dir+"/", "./cmd/omnijaild")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// NewNode builds and starts a daemon and ends it with the test.
func NewNode(t testing.TB, o Options) *Node {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "oj-")
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{Dir: dir, Bin: bin, Socket: filepath.Join(dir, "run/s"), apart: o.Apart, homes: map[uint32]string{}}
	t.Cleanup(func() {
		n.Stop(t)
		os.RemoveAll(dir)
	})
	if err := errors.Join(os.Chmod(dir, 0o755), os.MkdirAll(dir+"/policies", 0o755), os.Chmod(dir+"/policies", 0o755)); err != nil {
		t.Fatal(err)
	}
	if !o.NoLab {
		n.Lab, err = lab.NewUpstream(context.Background(), lab.Options{Token: Token, Login: "octocat"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Lab.Close() })
	}
	for name, text := range o.Policy {
		n.write(t, "policies/"+name+".yaml", text)
	}
	n.configure(t, o)
	n.Start(t)
	return n
}

func (n *Node) write(t testing.TB, name, text string) string {
	t.Helper()
	p := filepath.Join(n.Dir, name)
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// LabNames are the names that the node's configuration sends to the lab.
var LabNames = []string{"github.com", "api.github.com", "codeload.github.com", "example.test", "api.example.test", "git.example.test", "other.test"}

func (n *Node) configure(t testing.TB, o Options) {
	t.Helper()
	c := map[string]any{
		"socket": n.Socket, "group": strconv.Itoa(socketGID), "egress_user": strconv.Itoa(egressUID),
		"run_dir": n.Dir + "/run", "state_dir": n.Dir + "/state", "policy_dir": n.Dir + "/policies",
	}
	if n.Lab != nil {
		hosts := map[string]string{}
		for _, name := range LabNames {
			hosts[name] = n.Lab.HTTPS().String()
			hosts[name+":80"] = n.Lab.HTTP().String()
		}
		if o.Hosts != nil {
			maps.Copy(hosts, o.Hosts(n))
		}
		c["upstream"] = map[string]any{
			"hosts": hosts, "ca_files": []string{n.write(t, "ca.pem", string(n.Lab.CA()))}, "dns": o.DNS,
		}
	}
	if b := os.Getenv(backendVariable); b != "" && !o.Bubblewrap {
		c["backend"] = b
	}
	if way := os.Getenv(interceptionVariable); way != "" {
		c["interception"] = way
	}
	maps.Copy(c, o.Config)
	b, err := json.Marshal(c) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	n.confPath = n.write(t, "omnijaild.yaml", string(b))
}

// Start starts the daemon and waits until it serves.
func (n *Node) Start(t testing.TB) {
	t.Helper()
	n.log = &syncBuffer{}
	n.cmd = exec.Command(filepath.Join(n.Bin, "omnijaild"), "--config", n.confPath, "--log-level", "debug")
	n.cmd.Env = []string{"PATH=/usr/bin:/bin"}
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: n.apart}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n.exited = make(chan struct{})
	go func() {
		n.cmd.Wait()
		close(n.exited)
	}()
	if !n.log.waitFor("msg=ready", n.exited) {
		t.Fatalf("omnijaild did not start:\n%s", n.log.String())
	}
}

// Stop ends the daemon with SIGTERM and waits. It may be called again.
func (n *Node) Stop(t testing.TB) {
	t.Helper()
	if n.cmd == nil {
		return
	}
	n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.exited:
	case <-time.After(hang):
		n.cmd.Process.Kill()
		t.Errorf("omnijaild did not stop; its log:\n%s", n.log.String())
	}
	if log := n.log.String(); strings.Contains(log, "WARNING: DATA RACE") {
		t.Errorf("omnijaild has a race:\n%s", log)
	}
	n.cmd = nil
}

// Kill ends the daemon with SIGKILL and waits until it is gone.
func (n *Node) Kill(t testing.TB) {
	t.Helper()
	n.cmd.Process.Kill()
	<-n.exited
	n.cmd = nil
}

// PID is the daemon's.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// Log is what the daemon has logged so far.
func (n *Node) Log() string { return n.log.String() }

// Home is a fresh home directory of a user, made on first use.
func (n *Node) Home(t testing.TB, uid uint32) string {
	t.Helper()
	if h := n.homes[uid]; h != "" {
		return h
	}
	h := filepath.Join(n.Dir, fmt.Sprintf("home-%d", uid))
	if err := errors.Join(os.Mkdir(h, 0o755), os.Chown(h, int(uid), int(uid))); err != nil {
		t.Fatal(err)
	}
	n.homes[uid] = h
	return h
}

// Project is the directory where a user's commands run unless a test says
// otherwise: a home itself is never a jail's working directory.
func (n *Node) Project(t testing.TB, uid uint32) string {
	t.Helper()
	dir := filepath.Join(n.Home(t, uid), "project")
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	if err := os.Chown(dir, int(uid), int(uid)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Workspace makes a directory of a user's with files by relative name.
func (n *Node) Workspace(t testing.TB, uid uint32, files map[string]string) string {
	t.Helper()
	dir, err := os.MkdirTemp(n.Home(t, uid), "ws-")
	if err != nil {
		t.Fatal(err)
	}
	own := func(p string) {
		if err := os.Chown(p, int(uid), int(uid)); err != nil {
			t.Fatal(err)
		}
	}
	own(dir)
	for name, text := range files {
		p := filepath.Join(dir, name)
		for d := filepath.Dir(p); d != dir; d = filepath.Dir(d) {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
			own(d)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		own(p)
	}
	return dir
}

// Ctl describes one run of omnijailctl.
type Ctl struct {
	UID   uint32
	Dir   string   // default: the user's Project
	Env   []string // added to a small environment
	Stdin io.Reader
	Args  []string
}

// Command returns omnijailctl as a user in the socket's group, not yet started.
func (n *Node) Command(t testing.TB, c Ctl) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(n.Bin, "omnijailctl"), c.Args...)
	if c.Dir == "" {
		c.Dir = n.Project(t, c.UID)
	}
	cmd.Dir = c.Dir
	cmd.Env = append([]string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + n.Home(t, c.UID), "LANG=C.UTF-8", "OMNIJAIL_SOCKET=" + n.Socket,
	}, c.Env...)
	cmd.Stdin = c.Stdin
	cred := &syscall.Credential{Uid: c.UID, Gid: c.UID, Groups: []uint32{socketGID}}
	if c.UID == Outsider {
		cred.Groups = nil
	}
	if c.UID != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	}
	return cmd
}

// Output is what a run of omnijailctl gave.
type Output struct {
	Stdout, Stderr string
	Exit           int // 128+n when omnijailctl itself was killed
}

// Run runs omnijailctl to its end.
func (n *Node) Run(t testing.TB, c Ctl) Output {
	t.Helper()
	cmd := n.Command(t, c)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	timer := time.AfterFunc(hang, func() { cmd.Process.Kill() })
	err := cmd.Run()
	if !timer.Stop() {
		t.Fatalf("omnijailctl %s hangs; its stderr:\n%s\nthe daemon's log:\n%s", strings.Join(c.Args, " "), errs.String(), n.Log())
	}
	o := Output{Stdout: out.String(), Stderr: errs.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		o.Exit = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			o.Exit = 128 + int(ws.Signal())
		}
	case err != nil:
		t.Fatal(err)
	}
	return o
}

// Exec runs a command in a jail as alice: flags, "--", command.
func (n *Node) Exec(t testing.TB, args ...string) Output {
	t.Helper()
	return n.Run(t, Ctl{UID: Alice, Args: append([]string{"exec"}, args...)})
}

// Want fails the test unless the exit is code, and shows everything then.
func (o Output) Want(t testing.TB, code int) Output {
	t.Helper()
	if o.Exit != code {
		t.Fatalf("exit %d, want %d\nstdout:\n%s\nstderr:\n%s", o.Exit, code, o.Stdout, o.Stderr)
	}
	return o
}
