package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

const hang = 20 * time.Second // bounds a hang, decides nothing

func newPool(t *testing.T, n int) *Pool {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	p, err := New(n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sh starts a shell whose output comes back over a donated pipe.
func sh(t *testing.T, p *Pool, script string, o Options) (string, error) {
	t.Helper()
	shell, err := os.Open("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := &jail.Cmd{Exe: shell, Args: []string{"sh", "-c", script}}
	cmd.Donate(w)
	process, err := p.Start(cmd, o)
	if err != nil {
		return "", err
	}
	defer process.Close()
	var out strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if _, err := process.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return out.String(), nil
}

func TestS01_StartedWithoutEnvironment(t *testing.T) {
	t.Setenv("LD_PRELOAD_TEST", "x")
	out, err := sh(t, newPool(t, 1), `tr '\0' '\n' </proc/$$/environ >&3; fds=$(readlink /proc/$$/fd/0 /proc/$$/fd/1); echo "$fds" >&3; umask >&3`, Options{})
	if err != nil || out != "/dev/null\n/dev/null\n0000\n" {
		t.Errorf("environment and descriptors: %q, %v", out, err)
	}
}

func TestStageNamespaceIsOfOneStart(t *testing.T) {
	p := newPool(t, 1)
	ours, _ := os.Readlink("/proc/self/ns/mnt")
	var seen []string
	for range 3 {
		out, err := sh(t, p, "readlink /proc/$$/ns/mnt >&3", Options{Stage: func() error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, out)
	}
	out, err := sh(t, p, "readlink /proc/$$/ns/mnt >&3", Options{})
	if err != nil || strings.TrimSpace(out) != ours {
		t.Errorf("after staged starts a plain one is in %q, want %s", out, ours)
	}
	for _, ns := range seen {
		if strings.TrimSpace(ns) == ours {
			t.Error("a staged start ran in the node's mounts")
		}
	}
}

func TestFailedStageStartsNothingAndHarmsNoOther(t *testing.T) {
	p := newPool(t, 1)
	planned := errors.New("planned")
	if _, err := sh(t, p, "echo ran >&3", Options{Stage: func() error { return planned }}); !errors.Is(err, planned) {
		t.Errorf("got %v", err)
	}
	if out, err := sh(t, p, "echo ran >&3", Options{}); err != nil || out != "ran\n" {
		t.Errorf("the next start: %q, %v", out, err)
	}
}

func TestDonatedFilesAreClosed(t *testing.T) {
	p := newPool(t, 1)
	shell, _ := os.Open("/bin/sh")
	defer shell.Close()
	given, lent := temp(t), temp(t)
	cmd := &jail.Cmd{Exe: shell, Args: []string{"sh", "-c", ":"}}
	cmd.Donate(given)
	cmd.Lend(lent)
	process, err := p.Start(cmd, Options{Stage: func() error { return errors.New("planned") }})
	if err == nil {
		process.Close()
		t.Fatal("started")
	}
	if _, err := given.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a donated file is still open: %v", err)
	}
	if _, err := lent.Stat(); err != nil {
		t.Errorf("a lent file was closed: %v", err)
	}
}

func temp(t *testing.T) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Jails outlive the goroutine that asked for them and not the process: a helper
// process starts one from a goroutine that ends, says so, and is killed.
func TestJailsDieWithTheProcessAlone(t *testing.T) {
	if os.Getenv("SPAWN_HELPER") != "" {
		helper()
	}
	newPool(t, 1)
	cmd := exec.Command(os.Args[0], "-test.run=TestJailsDieWithTheProcessAlone")
	cmd.Env = []string{"SPAWN_HELPER=1"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var b [32]byte
	n, err := out.Read(b[:])
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for _, c := range strings.TrimSpace(string(b[:n])) {
		pid = pid*10 + int(c-'0')
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("the jail ended with the goroutine that started it: %v", err)
	}
	defer unix.Close(pidfd)
	cmd.Process.Kill()
	cmd.Wait()
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, int(hang.Milliseconds())); n != 1 {
		t.Errorf("the jail outlives the process: %v", err)
	}
}

func helper() {
	p, err := New(1)
	if err != nil {
		panic(err)
	}
	shell, _ := os.Open("/bin/sleep")
	done := make(chan int)
	go func() {
		process, err := p.Start(&jail.Cmd{Exe: shell, Args: []string{"sleep", "1000"}}, Options{})
		if err != nil {
			panic(err)
		}
		done <- process.PID
	}()
	fmt.Println(<-done)
	select {}
}
