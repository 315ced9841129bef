package bwrap_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/pty"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/internal/stage"
	"github.com/omnijail/omnijail/runtime/bwrap"
)

const (
	uid      = 1000
	gid      = 1001
	hang     = 20 * time.Second // bounds a hang, decides nothing
	jailHome = "/home/someone"
)

// rig plays the daemon: real bwrap, real init, real mounts.
type rig struct {
	pool    *spawn.Pool
	backend *bwrap.Backend
	init    *bwrap.Binary
	dir     string // staging directory
}

var shared = sync.OnceValues(func() (*rig, error) {
	dir, err := os.MkdirTemp("", "rig")
	if err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "omnijail-init"), "github.com/omnijail/omnijail/cmd/omnijail-init")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, &exec.Error{Name: string(out), Err: err}
	}
	os.Chmod(filepath.Join(dir, "omnijail-init"), 0o755)
	r := &rig{dir: dir}
	if r.init, err = bwrap.Load(filepath.Join(dir, "omnijail-init")); err != nil {
		return nil, err
	}
	outer, err := bwrap.Load("/usr/bin/bwrap")
	if err != nil {
		return nil, err
	}
	r.backend = bwrap.New(outer)
	r.pool, err = spawn.New(2)
	return r, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built {
		if r, err := shared(); err == nil {
			os.RemoveAll(r.dir)
		}
	}
	os.Exit(code)
}

var built bool // whether any test asked for the rig

func newRig(t testing.TB) *rig {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	built = true
	r, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// command is what to run and in what.
type command struct {
	argv   []string
	env    []string
	layout stage.Layout
	descs  stage.Descriptors
	stdin  io.Reader
	launch func(*jail.Launch)
	told   func(args []string) []string // what init is told instead
	tty    *os.File                     // slave for all three slots
	stage  func() error                 // before the plan
	opts   spawn.Options
}

type outcome struct {
	stdout, stderr string
	exit           int
	err            error // of the start
	complaint      string
}

func layout() stage.Layout {
	l := stage.Layout{
		User: jail.User{UID: uid, GID: gid, Home: jailHome}, Home: jailHome,
		Files: []stage.File{{Path: "/etc/passwd", Data: []byte("root:x:0:0::/root:/bin/sh\nu:x:1000:1001::/home/someone:/bin/sh\n"), Mode: 0o644}},
	}
	for _, m := range spec().OCI.Mounts {
		target, err := os.Readlink(m.Source) // as the node has it: a directory or a link
		if err != nil {
			target = ""
		}
		l.System = append(l.System, stage.System{Path: m.Destination, Source: m.Source, Link: target})
	}
	for _, p := range spec().OCI.Linux.MaskedPaths {
		if info, err := os.Lstat(p); err == nil {
			l.Masks = append(l.Masks, stage.ProcMask{Path: p, Dir: info.IsDir()})
		}
	}
	return l
}

func spec() *jail.Spec {
	mount := func(p string) specs.Mount {
		return specs.Mount{Type: "bind", Source: p, Destination: p, Options: []string{"rbind", "ro", "nosuid", "nodev"}}
	}
	oci := &specs.Spec{
		Version:  specs.Version,
		Hostname: "omnijail",
		Process:  &specs.Process{User: specs.User{UID: uid, GID: gid}, Cwd: "/", NoNewPrivileges: true},
		Mounts:   []specs.Mount{mount("/usr"), mount("/bin"), mount("/sbin"), mount("/lib"), mount("/lib64"), mount("/sys/devices/system/cpu")},
		Linux: &specs.Linux{
			MaskedPaths:   []string{"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/latency_stats", "/proc/acpi"},
			ReadonlyPaths: []string{"/proc/sys", "/proc/sysrq-trigger"},
		},
	}
	for _, n := range []specs.LinuxNamespaceType{"mount", "pid", "ipc", "uts", "cgroup", "network"} {
		oci.Linux.Namespaces = append(oci.Linux.Namespaces, specs.LinuxNamespace{Type: n})
	}
	return &jail.Spec{OCI: oci}
}

// started is a jail whose init waits for go.
type started struct {
	process *spawn.Process
	channel *spawn.Channel
	cmd     *jail.Cmd
	launch  *os.File
	files   []*os.File // the command's
	out     [2]chan []byte
}

// letGo lets the command run. Nobody else holds its descriptors then.
func (s *started) letGo() error {
	defer func() {
		for _, f := range append(s.files, s.launch) {
			f.Close()
		}
	}()
	return s.channel.Go(s.launch, s.files...)
}

func (r *rig) start(t testing.TB, c command) (*started, error) {
	t.Helper()
	pts, err := pty.NewDevpts()
	if err != nil {
		t.Fatal(err)
	}
	defer pts.Close()
	if c.descs.Pts == nil {
		c.descs.Pts = pts.Mount()
	}
	plan, err := stage.NewPlan(c.layout)
	if err != nil {
		return nil, err
	}
	s := &started{}
	s.record(t, r, c)
	channel, end, err := spawn.NewChannel()
	if err != nil {
		t.Fatal(err)
	}
	s.channel = channel
	s.cmd, err = r.backend.Command(spec(), jail.Staged{Mounts: plan.Mounts, Init: r.init.File(), Chan: end})
	if err != nil {
		return nil, err
	}
	if c.told != nil {
		s.cmd.Args = c.told(s.cmd.Args)
	}
	c.opts.Stage = func() error {
		if c.stage != nil {
			if err := c.stage(); err != nil {
				return err
			}
		}
		return plan.Apply(r.dir, c.descs, c.layout.Grants)
	}
	s.process, err = r.pool.Start(s.cmd, c.opts)
	return s, err
}

// record makes the launch record and the command's descriptors.
func (s *started) record(t testing.TB, r *rig, c command) {
	t.Helper()
	s.files = r.stdio(t, c, s)
	l := &jail.Launch{Exec: c.argv[0], Cwd: "/", UID: uid, GID: gid, Stdio: [3]int{1, 2, 3}}
	for _, a := range c.argv {
		l.Argv = append(l.Argv, []byte(a))
	}
	for _, e := range c.env {
		l.Env = append(l.Env, []byte(e))
	}
	if c.launch != nil {
		c.launch(l)
	}
	s.launch = launchFile(t, l)
}

func launchFile(t testing.TB, l *jail.Launch) *os.File {
	t.Helper()
	b, err := jail.EncodeLaunch(l)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp("", "launch")
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(f.Name())
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	return f
}

// stdio makes pipes for the three slots, and reads what comes out.
func (r *rig) stdio(t testing.TB, c command, s *started) []*os.File {
	t.Helper()
	if c.tty != nil {
		var out []*os.File
		for range 3 {
			fd, err := unix.FcntlInt(c.tty.Fd(), unix.F_DUPFD_CLOEXEC, 3)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, os.NewFile(uintptr(fd), "tty"))
		}
		return out
	}
	in, feed := must2(os.Pipe())
	go func() {
		if c.stdin != nil {
			io.Copy(feed, c.stdin)
		}
		feed.Close()
	}()
	files := []*os.File{in}
	for i := range s.out {
		read, write := must2(os.Pipe())
		s.out[i] = make(chan []byte, 1)
		go func() {
			b, _ := io.ReadAll(read)
			read.Close()
			s.out[i] <- b
		}()
		files = append(files, write)
	}
	for _, f := range files {
		f.Fd() // the command's ends block, as a shell's would
	}
	return files
}

func must2(a, b *os.File, err error) (*os.File, *os.File) {
	if err != nil {
		panic(err)
	}
	return a, b
}

// run takes a command through its whole life.
func (r *rig) run(t testing.TB, c command) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	s, err := r.start(t, c)
	if err != nil {
		return outcome{err: err, exit: 125}
	}
	defer s.channel.Close()
	defer s.process.Close()
	pidfd, err := s.channel.Ready(ctx)
	if err == nil {
		pidfd.Close()
		return s.finish(t, c)
	}
	o := s.finish(t, c)
	o.err = err
	return o
}

// finish lets the command go and waits for its end.
func (s *started) finish(t testing.TB, c command) (o outcome) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if o.err = s.letGo(); o.err == nil {
		o.err = s.channel.Result(ctx)
	}
	o.exit, _ = spawn.ReadExit(s.cmd.Status)
	s.cmd.Status.Close()
	if _, err := s.process.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	o.complaint = s.process.Complaint()
	if c.tty == nil {
		o.stdout, o.stderr = string(<-s.out[0]), string(<-s.out[1])
	}
	return o
}

// sh runs a shell script in the layout and fails the test unless it succeeds.
func (r *rig) sh(t testing.TB, l stage.Layout, d stage.Descriptors, script string) string {
	t.Helper()
	o := r.run(t, command{argv: []string{"/bin/sh", "-c", script}, env: []string{"PATH=/usr/bin:/bin"}, layout: l, descs: d})
	if o.err != nil || o.exit != 0 {
		t.Fatalf("exit %d, %v, stdout %q, stderr %q, backend said %q", o.exit, o.err, o.stdout, o.stderr, o.complaint)
	}
	return o.stdout
}

// grant opens dir as the scout would, clones it and its layers, and finds the
// names below.
func grant(t testing.TB, g jail.OpenGrant) (tree *os.File, cloned, names []*os.File) {
	t.Helper()
	tree = treeAt(t, g.Path, g.Write)
	layers, in := g.Layers()
	all := g.Names()
	for _, l := range layers {
		cloned = append(cloned, treeAt(t, g.Path+"/"+all[l.Name].Name, g.Write && !l.ReadOnly))
	}
	for i, n := range all {
		from, rel := tree, n.Name
		if l := in[i]; l >= 0 {
			from, rel = cloned[l], strings.TrimPrefix(rel, all[layers[l].Name].Name+"/")
		}
		names = append(names, pathFD(t, int(from.Fd()), rel))
	}
	return tree, cloned, names
}

func treeAt(t testing.TB, path string, write bool) *os.File {
	t.Helper()
	tree, err := stage.CloneTree(pathFD(t, unix.AT_FDCWD, path), write)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

func pathFD(t testing.TB, dir int, name string) *os.File {
	t.Helper()
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { f.Close() })
	return f
}

// grants is grant for several.
func grants(t testing.TB, gs ...jail.OpenGrant) (stage.Layout, stage.Descriptors) {
	t.Helper()
	l, d := layout(), stage.Descriptors{}
	l.Grants = gs
	for _, g := range gs {
		tree, layers, names := grant(t, g)
		d.Trees, d.Layers, d.Names = append(d.Trees, tree), append(d.Layers, layers), append(d.Names, names)
	}
	return l, d
}

// workspace makes a directory of the caller's.
func workspace(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != "/tmp" && d != "/"; d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return dir
}

// write makes a file of the caller's, with its directories, below a workspace.
func write(t testing.TB, path, text string) {
	t.Helper()
	var made []string
	for d := filepath.Dir(path); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(made, path) {
		if err := os.Chown(p, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
}

func mountinfo(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b)
}

var noDescs = stage.Descriptors{Trees: []*os.File{}, Names: [][]*os.File{}}
