package caller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestOpenIsDoneAsTheCaller(t *testing.T) {
	dir := playground(t)
	roots := filepath.Join(dir, "roots")
	if err := os.Mkdir(roots, 0o700); err != nil {
		t.Fatal(err)
	}
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: roots, Origin: "policy:3"})
	_, err := open(t, Options{Request: r})
	refused(t, err, "hidden_scan", roots, "permission denied")

	r.View.Grants[1].Path = filepath.Join(roots, "inner")
	_, err = open(t, Options{Request: r})
	refused(t, err, "grant", roots, "policy:3", "permission denied")
}

func TestOpenedGrantsArePathsOnly(t *testing.T) {
	dir := playground(t)
	file := write(t, dir, "notes/a.txt", 0o600, "x")
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: file}, jail.Grant{Path: dir + "/absent", Missing: true})
	o := mustOpen(t, r)
	want := []jail.OpenGrant{{Path: file}, {Path: dir + "/w", Dir: true, Write: true}}
	for i, f := range o.Grants {
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_PATH == 0 {
			t.Errorf("grant %d is not O_PATH: %o, %v", i, flags, err)
		}
		if g := o.Reply.Grants[i]; g.Path != want[i].Path || g.Dir != want[i].Dir || g.Write != want[i].Write {
			t.Errorf("grant %d is %+v, want %+v", i, g, want[i])
		}
	}
	if o.Reply.Exec != "/usr/bin/true" || o.Reply.Cwd != dir+"/w" {
		t.Errorf("exec %q, cwd %q", o.Reply.Exec, o.Reply.Cwd)
	}
}

// Between its phases the scout is a process of the caller's uid that the caller
// can neither trace nor read, with nothing of the daemon's in its environment.
func TestS02_TheScoutIsTheCallerAndClosedToIt(t *testing.T) {
	t.Setenv("OMNIJAIL_TEST_SECRET", "in the daemon's environment")
	dir := playground(t)
	o := mustOpen(t, request(dir))
	proc := fmt.Sprintf("/proc/%d", o.scout.cmd.Process.Pid)
	status, err := os.ReadFile(proc + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Uid:\t1000\t1000\t1000\t1000\n", "Gid:\t1000\t1000\t1000\t1000\n", "Groups:\t \n", "NoNewPrivs:\t1\n",
		"CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n", "CapAmb:\t0000000000000000\n",
	} {
		if !strings.Contains(string(status), want) {
			t.Errorf("status lacks %q:\n%s", want, status)
		}
	}
	if env, err := os.ReadFile(proc + "/environ"); err != nil || len(env) != 0 {
		t.Errorf("environment %q, %v; want an empty one", env, err)
	}
	for _, name := range []string{"environ", "maps", "mem", "fd/3"} {
		out, err := exec.Command("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "head", "-c1", proc+"/"+name).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "denied") {
			t.Errorf("the caller reads %s of its scout: %q, %v", name, out, err)
		}
	}
	threads, err := filepath.Glob(proc + "/task/*/status")
	if err != nil || len(threads) == 0 {
		t.Fatalf("threads: %v, %v", threads, err)
	}
	for _, name := range threads {
		if b, err := os.ReadFile(name); err != nil || !strings.Contains(string(b), "\nSeccomp:\t2\n") {
			t.Errorf("%s has no filter: %s, %v", name, b, err)
		}
	}
	limits, err := os.ReadFile(proc + "/limits")
	if err != nil || !regexp.MustCompile(`Max data size +1073741824 +1073741824 +bytes`).Match(limits) {
		t.Errorf("memory is not bounded: %s, %v", limits, err)
	}
	if err != nil || !regexp.MustCompile(`Max core file size +[01] +[01] +bytes`).Match(limits) {
		t.Errorf("core limit is not 0 or 1: %s, %v", limits, err)
	}
}

func TestS04_NoScoutIsRoot(t *testing.T) {
	dir := playground(t)
	for _, u := range []jail.User{{UID: 0, GID: 1000}, {UID: 1000, GID: 0}} {
		r := request(dir)
		r.User.UID, r.User.GID = u.UID, u.GID
		if _, err := open(t, Options{Request: r}); err == nil {
			t.Errorf("a scout became %d:%d", u.UID, u.GID)
		}
	}
}

func TestS26_DestinationsAreJudgedByTheRealPath(t *testing.T) {
	dir := playground(t)
	for _, target := range []string{"/etc", "/", "/usr", "/tmp", "/proc/self", "/dev/shm", "/run", dir, filepath.Join(dir, "home")} {
		link := symlink(t, target, filepath.Join(dir, "link"))
		r := request(dir)
		r.View.Grants = append(r.View.Grants, jail.Grant{Path: link, Write: true})
		_, err := open(t, Options{Request: r})
		refused(t, err, "grant", link)
		os.Remove(link)
	}
}

func TestGrantsOfOtherKindsAreRefused(t *testing.T) {
	dir := playground(t)
	if err := unix.Mkfifo(dir+"/fifo", 0o666); err != nil {
		t.Fatal(err)
	}
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/fifo"})
	_, err := open(t, Options{Request: r})
	refused(t, err, "grant", "a Unix socket or a FIFO")

	r.View.Grants[1].Path = dir + "/absent"
	_, err = open(t, Options{Request: r})
	refused(t, err, "no_such_path", "does not exist")
}

func TestTwoGrantsOfOnePathBecomeTheWiderOne(t *testing.T) {
	dir := playground(t)
	r := request(dir)
	r.View.Grants[0].Write = false
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: symlink(t, "w", dir+"/again"), Write: true})
	o := mustOpen(t, r)
	if len(o.Reply.Grants) != 1 || !o.Reply.Grants[0].Write {
		t.Fatalf("got %+v, want one writable grant", o.Reply.Grants)
	}
}

func TestCancelEndsTheScout(t *testing.T) {
	dir := playground(t)
	r := request(dir)
	r.Stdio = true // and nothing is sent, so the scout waits
	ours, theirs := streamPair(t)
	defer ours.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("the client left")
	c := newChild(t)
	done := make(chan error)
	go func() {
		_, err := Open(ctx, Options{Child: c, Conn: theirs, Request: r})
		done <- err
	}()
	cancel(reason)
	if err := <-done; !errors.Is(err, reason) {
		t.Fatalf("got %v, want %v", err, reason)
	}
}

// A file system that commands the kernel is none to grant, wherever it is mounted.
func TestS26_DoorsIntoTheKernelAreNoGrants(t *testing.T) {
	dir := playground(t)
	for _, kind := range []string{"proc", "sysfs", "devpts"} {
		at := mkdir(t, dir, kind)
		if err := unix.Mount(kind, at, kind, 0, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
		r := request(dir)
		r.View.Grants = append(r.View.Grants, jail.Grant{Path: at})
		_, err := open(t, Options{Request: r})
		refused(t, err, "grant", "door into the kernel")
	}
}

func TestS17_AUidWithFourStuckScoutsIsRefused(t *testing.T) {
	dir := playground(t)
	for range maxAbandoned {
		abandoned.add(someone)
	}
	_, err := open(t, Options{Request: request(dir)})
	refused(t, err, "stuck_filesystem", "4 of your earlier requests")
	other := request(dir)
	other.User.UID = someone + 1
	if _, err := open(t, Options{Request: other}); err != nil {
		if e, ok := errors.AsType[*jail.OpenError](err); ok && e.Code == "stuck_filesystem" {
			t.Error("another uid is refused too")
		}
	}
	for range maxAbandoned {
		abandoned.remove(someone)
	}
	mustOpen(t, request(dir))
}

// A grant that is swapped for a link while it is opened is what its descriptor
// says, under its own path and no other.
func TestS26_ASwappedGrantKeepsPathAndDescriptorTogether(t *testing.T) {
	dir := playground(t)
	mkdir(t, dir, "a")
	mkdir(t, dir, "b")
	symlink(t, "a", dir+"/x")
	stop := swap(t, dir+"/x", symlink(t, "b", dir+"/y"))
	defer stop()
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/x"})
	c := newChild(t)
	for range 200 {
		o, err := Open(context.Background(), Options{Child: c, Request: r})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(o.Reply.Grants, func(g jail.OpenGrant) bool { return g.Path != dir+"/w" })
		got, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", o.Grants[i].Fd()))
		if p := o.Reply.Grants[i].Path; err != nil || got != p || p != dir+"/a" && p != dir+"/b" {
			t.Fatalf("descriptor of %s, path %s, %v", got, p, err)
		}
		o.Close()
	}
}

// swap exchanges two names until stop is called.
func swap(t *testing.T, a, b string) (stop func()) {
	t.Helper()
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ending:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			}
		}
	}()
	return func() { close(ending); <-ended }
}
