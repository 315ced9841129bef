package caller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/peercred/peercredtest"
	"github.com/omnijail/omnijail/internal/scout/scouttest"
)

func TestMain(m *testing.M) { scouttest.Main(m) }

const someone = 1000 // the uid and gid that scouts become here

// newChild starts scouts for the test, which acts as the user that it names.
func newChild(t testing.TB) Child {
	t.Helper()
	return Child{Init: scouttest.Init(t), Caller: peercredtest.Self(t), Group: scouttest.Group{}}
}

func user(dir string) jail.User {
	return jail.User{UID: someone, GID: someone, Name: "someone", Home: filepath.Join(dir, "home")}
}

// playground is a directory of someone's that only root and someone can enter,
// with the working directory w and the home in it.
func playground(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "scout")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	own(t, dir)
	mkdir(t, dir, "w")
	mkdir(t, dir, "home")
	return dir
}

func own(t testing.TB, p string) {
	t.Helper()
	if err := os.Lchown(p, someone, someone); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, dir, name string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	for at, rest := dir, strings.Split(name, "/"); len(rest) > 0; rest = rest[1:] {
		at = filepath.Join(at, rest[0])
		if err := os.Mkdir(at, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		own(t, at)
	}
	return p
}

func write(t testing.TB, dir, name string, mode os.FileMode, text string) string {
	t.Helper()
	mkdir(t, dir, filepath.Dir(name))
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
	own(t, p)
	return p
}

func symlink(t testing.TB, target, p string) string {
	t.Helper()
	if err := os.Symlink(target, p); err != nil {
		t.Fatal(err)
	}
	own(t, p)
	return p
}

// request asks for a command in dir/w, which is granted for writing.
func request(dir string) jail.OpenRequest {
	w := filepath.Join(dir, "w")
	return jail.OpenRequest{
		User:       user(dir),
		View:       jail.View{Cwd: w, Grants: []jail.Grant{{Path: w, Write: true, Origin: "test"}}},
		Argv0:      []byte("true"),
		Path:       "/usr/bin:/bin",
		SystemDirs: []string{"/usr", "/bin", "/lib", "/lib64", "/sbin"},
	}
}

// open runs a scout; what it opened is closed with the test.
func open(t testing.TB, o Options) (*Opened, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if o.Init == nil {
		o.Child = newChild(t)
	}
	opened, err := Open(ctx, o)
	if err == nil {
		t.Cleanup(func() { opened.Close() })
	}
	return opened, err
}

func mustOpen(t testing.TB, r jail.OpenRequest) *Opened {
	t.Helper()
	o, err := open(t, Options{Request: r})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// again stands in for a clone: the same place, on the same mount.
func again(f *os.File, _ bool) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return os.NewFile(uintptr(fd), f.Name()), err
}

// refused wants a refusal that says all of the words.
func refused(t testing.TB, err error, code string, words ...string) {
	t.Helper()
	e, ok := errors.AsType[*jail.OpenError](err)
	if !ok || e.Code != code {
		t.Errorf("got %v, want a refusal with code %s", err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(e.Reason+"\n"+e.Fix, w) {
			t.Errorf("refusal %q, fix %q: does not say %q", e.Reason, e.Fix, w)
		}
	}
}

func names(list []jail.OpenName) (out []string) {
	for _, n := range list {
		out = append(out, n.Name)
	}
	return out
}
