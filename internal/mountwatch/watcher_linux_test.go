package mountwatch

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const hang = 60 * time.Second // bounds what should not take long

// masked starts a process in a mount namespace of its own in which each of the
// files is hidden, and returns its pidfd.
func masked(t testing.TB, files ...string) *os.File {
	t.Helper()
	script := `for f in "$@"; do mount --bind /dev/null "$f" || exit 1; done; echo ready; exec cat`
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, files...)...)
	pidfd := -1
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, PidFD: &pidfd}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	process := os.NewFile(uintptr(pidfd), "pidfd")
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
		process.Close()
	})
	if s, err := bufio.NewReader(out).ReadString('\n'); s != "ready\n" {
		t.Fatalf("%q, %v", s, err)
	}
	return process
}

func newWatcher(t testing.TB) *Watcher {
	t.Helper()
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func touch(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func await(t testing.TB, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(hang):
		t.Fatal("nothing was reported")
	}
}

func TestS09_AReplacedFileIsReported(t *testing.T) {
	w := newWatcher(t)
	for what, replace := range map[string]func(path string) error{
		"renamed over": func(p string) error { touch(t, p+"~"); return os.Rename(p+"~", p) },
		"removed":      os.Remove,
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			one, two := filepath.Join(dir, ".env"), filepath.Join(dir, "a b\\c\nd\té")
			touch(t, one)
			touch(t, two)
			process := masked(t, one, two)
			gone := make(chan struct{}, 8)
			watch, err := w.Add(process, []string{one, two}, func(*Watch) { gone <- struct{}{} })
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Close()
			if err := watch.Lost(); err != nil {
				t.Errorf("before anything happened: %v", err)
			}
			if err := replace(two); err != nil {
				t.Fatal(err)
			}
			await(t, gone)
			var lost *LostError
			if err := watch.Lost(); !errors.As(err, &lost) || !slices.Equal(lost.Places, []string{two}) {
				t.Errorf("lost %v", err)
			}
		})
	}
}

func TestS09_OtherJailsAreNotReported(t *testing.T) {
	w := newWatcher(t)
	dir := t.TempDir()
	mine, other := filepath.Join(dir, "mine"), filepath.Join(dir, "other")
	touch(t, mine)
	touch(t, other)
	reported := make(chan string, 8)
	for _, f := range []string{mine, other} {
		watch, err := w.Add(masked(t, f), []string{f}, func(*Watch) { reported <- f })
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Close()
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if got := <-reported; got != other {
		t.Errorf("reported %s", got)
	}
	if len(reported) > 0 {
		t.Errorf("and %s", <-reported)
	}
}

func TestS09_AProtectionThatIsNotThereRefusesTheStart(t *testing.T) {
	w := newWatcher(t)
	f := filepath.Join(t.TempDir(), "f")
	touch(t, f)
	process := masked(t, f)
	if _, err := w.Add(process, []string{f, f + "2"}, func(*Watch) {}); err == nil || !strings.Contains(err.Error(), f+"2") {
		t.Errorf("err %v", err)
	}
	if err := unix.PidfdSendSignal(int(process.Fd()), unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
	ended := []unix.PollFd{{Fd: int32(process.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(ended, int(hang.Milliseconds())); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := w.Add(process, []string{f}, func(*Watch) {}); err == nil {
		t.Error("the table of a dead process was opened")
	}
}

// BenchmarkReported is the time from a rename outside to the report of it, with
// 200 places to look at.
func BenchmarkReported(b *testing.B) {
	w := newWatcher(b)
	dir := b.TempDir()
	var files []string
	for i := range 200 {
		f := filepath.Join(dir, "f"+string(rune('a'+i)))
		touch(b, f)
		files = append(files, f)
	}
	for b.Loop() {
		b.StopTimer()
		reported := make(chan struct{}, 8)
		watch, err := w.Add(masked(b, files...), files, func(*Watch) { reported <- struct{}{} })
		if err != nil {
			b.Fatal(err)
		}
		touch(b, dir+"/new")
		b.StartTimer()
		if err := os.Rename(dir+"/new", files[0]); err != nil {
			b.Fatal(err)
		}
		await(b, reported)
		b.StopTimer()
		watch.Close()
		b.StartTimer()
	}
}

// What is mounted around a place is told at once, and elsewhere not.
func TestS26_AMountOfTheNodesIsNoticed(t *testing.T) {
	w, told := newWatcher(t), make(chan struct{}, 8)
	if _, err := w.Own(func() { told <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	mount := func(to string) {
		t.Helper()
		if err := unix.Mount("tmpfs", to, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(to, unix.MNT_DETACH) })
	}
	look := func() *Around {
		a, err := Look([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	a := look()
	mount(elsewhere)
	await(t, told)
	if a.Changed() {
		t.Error("a mount elsewhere counts")
	}
	mount(dir)
	await(t, told)
	b := look()
	if !a.Changed() || b.Changed() {
		t.Errorf("a mount: %v before, %v after it", a.Changed(), b.Changed())
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	await(t, told)
	if !a.Changed() || !b.Changed() {
		t.Error("what was seen once, or was unmounted, does not count")
	}
}
