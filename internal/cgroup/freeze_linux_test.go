package cgroup

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A frozen group answers nothing, goes on when it is thawed, and dies frozen.
func TestS09_AFrozenGroupStandsStillAndCanBeKilled(t *testing.T) {
	for what, h := range hierarchies(t) {
		t.Run(what, func(t *testing.T) {
			g := group(t, instance(t, h), "exec-1")
			cmd := exec.Command("cat")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Start(cmd); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			echo := func() {
				t.Helper()
				if _, err := in.Write([]byte("x\n")); err != nil {
					t.Fatal(err)
				}
				if s, err := lines.ReadString('\n'); s != "x\n" {
					t.Fatalf("echo %q, %v", s, err)
				}
			}
			echo()
			if err := g.Freeze(); err != nil {
				t.Fatal(err)
			}
			if _, err := in.Write([]byte("x\n")); err != nil {
				t.Fatal(err)
			}
			ready := []unix.PollFd{{Fd: int32(out.(*os.File).Fd()), Events: unix.POLLIN}}
			if n, err := unix.Poll(ready, 50); n != 0 || err != nil {
				t.Errorf("a frozen process wrote: %d, %v", n, err)
			}
			if err := g.Thaw(); err != nil {
				t.Fatal(err)
			}
			if s, err := lines.ReadString('\n'); s != "x\n" {
				t.Fatalf("after the thaw %q, %v", s, err)
			}
			echo()
			if err := g.Freeze(); err != nil {
				t.Fatal(err)
			}
			if err := g.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := g.WaitEmpty(deadline(t)); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
				t.Errorf("ended with %v", cmd.ProcessState)
			}
		})
	}
}

// BenchmarkFreeze is from the call until a process that never sleeps stands still.
func BenchmarkFreeze(b *testing.B) {
	for what, h := range hierarchies(b) {
		b.Run(what, func(b *testing.B) {
			g := group(b, instance(b, h), "exec-1")
			cmd := exec.Command("sh", "-c", "while :; do :; done")
			if err := g.Start(cmd); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := g.Freeze(); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := g.Thaw(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			g.Kill()
			cmd.Wait()
		})
	}
}
