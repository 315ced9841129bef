package caller

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/peercred/peercredtest"
	"github.com/omnijail/omnijail/internal/scout/scouttest"
)

// stayer is a scout that serves one request after the other.
type stayer struct {
	t    *testing.T
	dir  string
	view jail.View
	*Scout
}

func newStayer(t *testing.T, dir string) *stayer {
	t.Helper()
	s, err := Start(scouttest.Init(t), scouttest.Group{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	view := jail.View{Cwd: dir + "/w", Visible: []string{"*"}, Grants: []jail.Grant{{Path: dir + "/w", Write: true}}}
	return &stayer{t, dir, view, s}
}

func (s *stayer) request() jail.OpenRequest {
	return jail.OpenRequest{User: user(s.dir), Watch: true, View: s.view}
}

// command is a whole command, and what is protected in it. The scout stays.
func (s *stayer) command(during func(w *Watch)) (readonly []string) {
	s.t.Helper()
	g := s.serve(during)
	if !s.Stays() {
		s.t.Fatal("it does not stay")
	}
	return names(g.ReadOnly)
}

// serve is a whole command, and what it may write.
func (s *stayer) serve(during func(w *Watch)) jail.OpenGrant {
	s.t.Helper()
	o, err := open(s.t, Options{Child: newChild(s.t), Scout: s.Scout, Request: s.request()})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := o.Resolve(s.t.Context(), o.Grants, again); err != nil {
		s.t.Fatal(err)
	}
	request := child.WatchRequest{Home: s.dir + "/home", Roots: []child.WatchRoot{{Path: s.dir + "/w", Write: true, Kept: names(o.Reply.Grants[0].ReadOnly)}}}
	w, err := o.Watch(s.t.Context(), request, o.Grants)
	if err != nil {
		s.t.Fatal(err)
	}
	if f, err := w.Ready(s.t.Context()); err != nil || f.Kind != child.WatchReady {
		s.t.Fatalf("%+v, %v", f, err)
	}
	if during != nil {
		during(w)
	}
	ended(s.t, w)
	for f := (child.WatchFrame{}); f.Kind != child.WatchStays && f.Kind != child.WatchDone; {
		if f, err = w.Next(); err != nil {
			s.t.Fatal(err)
		}
	}
	o.Close()
	w.Close()
	return o.Reply.Grants[0]
}

func (s *stayer) here() error {
	return s.Here(s.t.Context(), newChild(s.t), user(s.dir))
}

// A scout that stays knows what was made meanwhile: by the command, and after it.
func TestS08_AScoutThatStaysKnowsWhatIsNew(t *testing.T) {
	dir := playground(t)
	write(t, dir, "w/a/b/file", 0o644, "")
	s := newStayer(t, dir)
	if got := s.command(nil); len(got) != 0 {
		t.Fatalf("protected %q", got)
	}
	write(t, dir, "w/a/sub/.git/config", 0o644, "")
	if err := s.here(); err != nil {
		t.Fatal(err)
	}
	got := s.command(func(w *Watch) {
		write(t, dir, "w/a/b/made/HEAD", 0o644, "")
		mkdir(t, dir, "w/a/b/made/refs")
		mkdir(t, dir, "w/a/b/made/objects")
		write(t, dir, "w/a/b/made/config", 0o644, "")
	})
	if !slices.Equal(got, []string{"a/sub/.git/config"}) {
		t.Errorf("protected %q", got)
	}
	if err := os.Rename(dir+"/w/a", dir+"/w/moved"); err != nil {
		t.Fatal(err)
	}
	got = s.command(nil)
	slices.Sort(got)
	if !slices.Equal(got, []string{"moved/b/made/config", "moved/sub/.git/config"}) {
		t.Errorf("then protected %q", got)
	}
}

// The watch of a later command sees what the first one's would have.
func TestS08_AScoutThatStaysWatchesAsBefore(t *testing.T) {
	dir := playground(t)
	write(t, dir, "w/deep/er/file", 0o644, "")
	write(t, dir, "w/.git/config", 0o644, "")
	s := newStayer(t, dir)
	s.command(nil)
	mkdir(t, dir, "w/between")
	s.command(func(w *Watch) {
		for _, n := range []string{"/w/deep/er/.envrc", "/w/between/.envrc", "/w/.git/commondir"} {
			write(t, dir, n, 0o644, "x")
			expect(t, w, child.WatchAlarm, n)
			frozen(t, w)
			expect(t, w, child.WatchMoved, n)
			expect(t, w, child.WatchCalm, "")
		}
	})
}

// Nothing of a request is open in a scout that stays, and its caller can neither
// read nor trace it.
func TestS02_AScoutThatStaysHoldsNothing(t *testing.T) {
	dir := playground(t)
	write(t, dir, "w/.git/config", 0o644, "")
	s := newStayer(t, dir)
	s.command(nil)
	if err := s.here(); err != nil { // it is through
		t.Fatal(err)
	}
	proc := fmt.Sprintf("/proc/%d", s.p.cmd.Process.Pid)
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, err := os.Readlink(proc + "/fd/" + fd.Name())
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(to, dir) || strings.HasPrefix(to, "socket:") && fd.Name() != "3" {
			t.Errorf("descriptor %s is %s", fd.Name(), to)
		}
	}
	out, err := exec.Command("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "head", "-c1", proc+"/maps").CombinedOutput()
	if err == nil {
		t.Errorf("the caller reads its scout: %q", out)
	}
}

// One that was stopped or killed by its caller is not waited for, and one caller's
// serves no other.
func TestS17_AScoutThatDoesNotAnswerIsNotAsked(t *testing.T) {
	for name, meddle := range map[string]func(s *stayer) error{
		"stopped": func(s *stayer) error { s.p.cmd.Process.Signal(unix.SIGSTOP); return s.here() },
		"killed":  func(s *stayer) error { s.p.cmd.Process.Signal(unix.SIGKILL); return s.here() },
		"another's": func(s *stayer) error {
			other := user(s.dir)
			other.UID = someone + 1
			return s.Here(t.Context(), Child{Caller: peercredtest.Self(t)}, other)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := playground(t)
			s := newStayer(t, dir)
			s.command(nil)
			if err := meddle(s); err == nil {
				t.Error("it is asked all the same")
			}
		})
	}
}
