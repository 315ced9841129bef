package cgroup

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func TestKillLeavesNothing(t *testing.T) {
	for what, h := range hierarchies(t) {
		for _, tc := range []struct{ name, script string }{
			{"one", "echo ready; exec sleep 1000"},
			{"daemon", "setsid -f sh -c 'setsid -f sleep 1000; echo ready; exec sleep 1000'; exec sleep 1000"},
			{"ignoring", "trap '' TERM HUP INT; echo ready; while :; do sleep 1000; done"},
			{"stopped", "sleep 1000 & kill -STOP $!; echo ready; wait"},
			// By the time the sleepers are killed, no hopper has the number it was listed with.
			{"hopping", `export S='sh -c "$S" & exit'; for i in $(seq 300); do sleep 1000 & done; sh -c "$S" & sh -c "$S" & echo ready; exec sleep 1000`},
		} {
			t.Run(what+"/"+tc.name, func(t *testing.T) {
				g := group(t, instance(t, h), "exec-1")
				if tc.name == "hopping" && g.SetLimits(Limits{Pids: 200_000}) != nil {
					t.Fatal("a process that forks for ever needs a limit on this node")
				}
				start(t, g, tc.script)
				if err := g.Kill(); err != nil {
					t.Fatal(err)
				}
				if err := g.WaitEmpty(deadline(t)); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if err := g.Remove(); err != nil {
						t.Fatal(err)
					}
				}
				if err := g.Kill(); err != nil {
					t.Errorf("kill after remove: %v", err)
				}
			})
		}
	}
}

func TestWaitEmptyWaits(t *testing.T) {
	for what, h := range hierarchies(t) {
		t.Run(what, func(t *testing.T) {
			g := group(t, instance(t, h), "exec-1")
			if err := g.WaitEmpty(deadline(t)); err != nil {
				t.Errorf("a group that never had a process: %v", err)
			}
			start(t, g, "setsid -f sleep 1000; echo ready")
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan error, 1)
			go func() { waited <- g.WaitEmpty(ctx) }()
			cancel()
			if err := <-waited; !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
			go func() { waited <- g.WaitEmpty(deadline(t)) }()
			if err := g.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := <-waited; err != nil {
				t.Errorf("after kill: %v", err)
			}
		})
	}
}

func TestRemoveRefusesWhileSomethingRuns(t *testing.T) {
	for what, h := range hierarchies(t) {
		t.Run(what, func(t *testing.T) {
			g := group(t, instance(t, h), "exec-1")
			start(t, g, "echo ready; exec sleep 1000")
			if err := g.Remove(); !errors.Is(err, unix.EBUSY) {
				t.Errorf("remove: %v, want EBUSY", err)
			}
		})
	}
}

// A number that was listed may be another process's by the time it is used.
func TestS28_ANumberThatIsNoMemberIsNotKilled(t *testing.T) {
	for what, h := range hierarchies(t) {
		t.Run(what, func(t *testing.T) {
			g := group(t, instance(t, h), "exec-1")
			outside := exec.Command("/bin/cat")
			in, err := outside.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := outside.Start(); err != nil {
				t.Fatal(err)
			}
			for _, pid := range []int{outside.Process.Pid, os.Getpid(), 1 << 22} {
				if err := g.tree.killMember(g.path, pid); err != nil {
					t.Errorf("process %d: %v", pid, err)
				}
			}
			in.Close()
			if err := outside.Wait(); err != nil {
				t.Errorf("the process outside ended with %v", err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	h, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	i := instance(t, h)
	group(t, i, "j0123456789abcdef")
	for _, name := range []string{"", ".", "..", "a/b", "../x", "cgroup.procs", "A", "-a", "a b", "a\x00", "j0123456789abcdef"} {
		if g, err := i.New(name); err == nil {
			t.Errorf("New(%q) made %s", name, g.Path())
		}
	}
	for _, id := range []string{"", "..", "a/b", "a.service"} {
		if _, err := h.Instance(id); err == nil {
			t.Errorf("Instance(%q) was made", id)
		}
		if err := h.Sweep(t.Context(), id); err == nil {
			t.Errorf("Sweep(%q) ran", id)
		}
	}
}
