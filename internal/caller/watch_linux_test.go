package caller

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

const hang = 60 * time.Second // bounds what should not take long

// watch has a scout watch the working directory of a playground.
func watch(t testing.TB, dir string, kept ...string) (*Watch, child.WatchFrame) {
	t.Helper()
	return watchAs(t, dir, child.WatchRequest{}, kept...)
}

func watchAs(t testing.TB, dir string, request child.WatchRequest, kept ...string) (*Watch, child.WatchFrame) {
	t.Helper()
	request.Home, request.Roots = dir+"/home", []child.WatchRoot{{Path: dir + "/w", Write: true, Kept: kept}}
	root, err := os.OpenFile(dir+"/w", unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	asked := jail.OpenRequest{User: user(dir), Watch: true, View: jail.View{
		Cwd: dir + "/w", Visible: []string{"*"}, Grants: []jail.Grant{{Path: dir + "/w", Write: true}},
	}}
	o := mustOpen(t, asked)
	if _, err := o.Resolve(t.Context(), o.Grants, again); err != nil {
		t.Fatal(err)
	}
	w, err := o.Watch(t.Context(), request, []*os.File{root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.scout.end)
	f, err := w.Ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return w, f
}

// expect receives one frame and wants it to be of this kind.
func expect(t testing.TB, w *Watch, kind child.WatchKind, path string) child.WatchFrame {
	t.Helper()
	w.scout.conn.SetDeadline(time.Now().Add(hang))
	f, err := w.Next()
	if err != nil || f.Kind != kind || !strings.HasSuffix(f.Path, path) {
		t.Fatalf("frame %+v, %v; want kind %d of %s", f, err, kind, path)
	}
	return f
}

func frozen(t testing.TB, w *Watch) {
	t.Helper()
	if err := w.Frozen(); err != nil {
		t.Fatal(err)
	}
}

func ended(t testing.TB, w *Watch) {
	t.Helper()
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
}

// Nothing is moved before the command stands still, and it does not go on before
// everything is.
func TestS08_ANameIsMovedWhileTheCommandStandsStill(t *testing.T) {
	dir := playground(t)
	w, _ := watch(t, dir)
	one := write(t, dir, "w/.envrc", 0o644, "x")
	expect(t, w, child.WatchAlarm, "/w/.envrc")
	two := write(t, dir, "w/sub/.git/hooks/pre-commit", 0o755, "x")
	if _, err := os.Stat(one); err != nil {
		t.Errorf("moved while the command may look: %v", err)
	}
	frozen(t, w)
	to := expect(t, w, child.WatchMoved, "/w/.envrc").To
	expect(t, w, child.WatchMoved, "/w/sub/.git/hooks/pre-commit")
	expect(t, w, child.WatchCalm, "")
	for _, p := range []string{one, two} {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
	if b, err := os.ReadFile(to); string(b) != "x" || filepath.Dir(to) != dir+"/w" {
		t.Errorf("%s holds %q, %v", to, b, err)
	}
	ended(t, w)
	expect(t, w, child.WatchStays, "")
}

// Events that the kernel has dropped are looked for.
func TestS08_LostEventsAreLookedFor(t *testing.T) {
	dir := playground(t)
	w, _ := watch(t, dir)
	write(t, dir, "w/.envrc", 0o644, "x")
	expect(t, w, child.WatchAlarm, "/w/.envrc") // it reads no events until it is answered
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range queue + 10 {
		if err := os.Symlink("x", fmt.Sprintf("%s/w/%d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "w/late/.git/hooks/pre-commit", 0o755, "x")
	frozen(t, w)
	expect(t, w, child.WatchMoved, "/w/.envrc")
	expect(t, w, child.WatchMoved, "/w/late/.git/hooks/pre-commit")
	expect(t, w, child.WatchCalm, "")
}

// What is mapped, or has another name, changes without an event of the name.
func TestS08_AConfigurationChangedBehindItsName(t *testing.T) {
	dir := playground(t)
	w, _ := watch(t, dir)
	const harmless, harmful = "[user]\n\tname = 012345678901234567890\n", "[core]\n\tfsmonitor = touch /tmp/x;\n\t\n"
	mapped := write(t, dir, "w/sub/.git/config", 0o644, harmless)
	f, err := os.OpenFile(mapped, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, len(harmless), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	f.Close()
	linked := write(t, dir, "w/innocent", 0o644, harmless)
	if err := os.Link(linked, mkdir(t, dir, "w/other/.git")+"/config"); err != nil {
		t.Fatal(err)
	}
	expect(t, w, child.WatchAlarm, "/w/other/.git/config")
	frozen(t, w)
	expect(t, w, child.WatchMoved, "/w/other/.git/config")
	expect(t, w, child.WatchCalm, "")
	copy(m, harmful)
	ended(t, w)
	expect(t, w, child.WatchMoved, "/w/sub/.git/config")
	expect(t, w, child.WatchStays, "")
}

func TestS09_AKeptNameMadeAnewEndsTheWatch(t *testing.T) {
	dir := playground(t)
	write(t, dir, "w/.env", 0o644, "1")
	w, _ := watch(t, dir, ".env")
	// An editor that keeps the old file takes the mount along with it.
	if err := os.Rename(dir+"/w/.env", dir+"/w/.env~"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "w/.env", 0o644, "2")
	expect(t, w, child.WatchAlarm, "/w/.env")
	frozen(t, w)
	if f := expect(t, w, child.WatchSeen, "/w/.env"); f.Class != child.ClassReplaced {
		t.Errorf("%+v", f)
	}
	expect(t, w, child.WatchFailed, "")
}

// A command that makes such names without end is not followed without end.
func TestS08_WhoTriesAgainAndAgainIsGivenUp(t *testing.T) {
	dir := playground(t)
	w, _ := watch(t, dir)
	w.scout.conn.SetDeadline(time.Now().Add(hang))
	for i := 0; ; i++ {
		write(t, dir, fmt.Sprintf("w/%d/.envrc", i), 0o644, "x")
		f, err := w.Next()
		for ; err == nil && f.Kind != child.WatchCalm && f.Kind != child.WatchFailed; f, err = w.Next() {
			if f.Kind == child.WatchAlarm {
				frozen(t, w)
			}
		}
		if err != nil || i > 100 {
			t.Fatal(i, err)
		}
		if f.Kind == child.WatchFailed {
			if f.Class != child.ClassTooMany {
				t.Errorf("%+v", f)
			}
			return
		}
	}
}

// What runs nothing yet, in any number, does not keep back what does run.
func TestS08_ManyNamesDoNotHideOneThatRuns(t *testing.T) {
	dir := playground(t)
	w, _ := watchAs(t, dir, child.WatchRequest{Detect: true})
	for i := range 100 {
		write(t, dir, fmt.Sprintf("w/%d/mise.toml", i), 0o644, "x")
	}
	write(t, dir, "w/sub/.git/hooks/pre-commit", 0o755, "x")
	ended(t, w)
	var last child.WatchFrame
	told, more := false, false
	w.scout.conn.SetDeadline(time.Now().Add(hang))
	for last.Kind != child.WatchStays {
		var err error
		if last, err = w.Next(); err != nil {
			t.Fatal(err)
		}
		told = told || strings.HasSuffix(last.Path, "/hooks/pre-commit")
		more = more || last.Kind == child.WatchSeen && last.Path == ""
	}
	if !told || !more {
		t.Errorf("the hook told of: %v; that there are more: %v", told, more)
	}
}

// Some file systems find a name by other letters than it was made with.
func TestS08_ANameInOtherLettersIsMoved(t *testing.T) {
	for _, name := range []string{".GIT/hooks/pre-commit", ".git/Hooks/pre-commit", ".ENVRC", ".VSCode/Tasks.json", ".git/CommonDir"} {
		dir := playground(t)
		w, _ := watch(t, dir)
		write(t, dir, "w/"+name, 0o755, "x")
		expect(t, w, child.WatchAlarm, "/w/"+name)
		frozen(t, w)
		expect(t, w, child.WatchMoved, "/w/"+name)
	}
}

// What a pointer leads to elsewhere is looked at while the command stands still: a
// file system that does not answer keeps the scout from seeing anything else.
func TestS17_WhereAPointerLeadsIsLookedAtInPeace(t *testing.T) {
	dir := playground(t)
	mkdir(t, dir, "home/other/.git")
	w, _ := watch(t, dir)
	pointer := write(t, dir, "w/sub/.git", 0o644, "gitdir: "+dir+"/home/other/.git\n")
	expect(t, w, child.WatchAlarm, "/w/sub/.git")
	frozen(t, w)
	expect(t, w, child.WatchCalm, "")
	if _, err := os.Stat(pointer); err != nil {
		t.Errorf("it leads well, and was moved: %v", err)
	}
}

// Where the caller has used up what the kernel lets one user watch, nothing starts.
func TestS08_WithoutAWatchNothingStarts(t *testing.T) {
	dir := playground(t)
	spent := make(chan []int)
	go func() {
		runtime.LockOSThread() // and ends with the thread, which has become somebody
		var fds []int
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, someone, someone, someone); errno == 0 {
			for {
				fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
				if err != nil {
					break
				}
				fds = append(fds, fd)
			}
		}
		spent <- fds
	}()
	fds := <-spent
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	if _, f := watch(t, dir); f.Kind != child.WatchFailed || f.Class != child.ClassLimit {
		t.Errorf("%+v", f)
	}
}

// BenchmarkAlarm is the time from a new name to the daemon's knowledge of it.
func BenchmarkAlarm(b *testing.B) {
	dir := playground(b)
	for b.Loop() {
		b.StopTimer()
		w, _ := watch(b, dir)
		b.StartTimer()
		if err := os.WriteFile(dir+"/w/.envrc", nil, 0o644); err != nil {
			b.Fatal(err)
		}
		expect(b, w, child.WatchAlarm, "")
		b.StopTimer()
		w.Close()
		os.Remove(dir + "/w/.envrc")
		b.StartTimer()
	}
}
