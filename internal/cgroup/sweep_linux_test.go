package cgroup

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestS28_SweepTouchesItsOwnSubtreeAlone(t *testing.T) {
	for what, h := range hierarchies(t) {
		t.Run(what, func(t *testing.T) {
			mine, other := instance(t, h), instance(t, h)
			crashed := start(t, group(t, mine, "exec-1"), "setsid -f sleep 1000; echo ready; exec sleep 1000")
			start(t, group(t, mine, "exec-2"), "echo ready; exec sleep 1000")
			living := start(t, group(t, other, "exec-1"), "echo ready; exec cat")
			for range 2 {
				if err := h.Sweep(deadline(t), mine.id); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := os.Stat(h.main.dir(mine.path)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the swept subtree: %v", err)
			}
			crashed.Wait()
			if status := crashed.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
				t.Errorf("the swept command ended with %v", crashed.ProcessState)
			}
			if err := living.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("the other daemon's command: %v", err)
			}
		})
	}
}

// A daemon that was killed while it killed a group leaves it frozen.
func TestSweepOfAFrozenGroup(t *testing.T) {
	for what, h := range hierarchies(t) {
		t.Run(what, func(t *testing.T) {
			i := instance(t, h)
			g := group(t, i, "exec-1")
			start(t, g, "echo ready; exec sleep 1000")
			if err := h.main.freeze(h.main.dir(g.path)); err != nil {
				t.Fatal(err)
			}
			if err := h.Sweep(deadline(t), i.id); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSweepRefusesItsOwnCgroup(t *testing.T) {
	h, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	i := instance(t, h)
	inside := *h.main
	inside.self = i.path + "/exec-1"
	if err := inside.sweep(t.Context(), i.path); err == nil {
		t.Error("a process swept the cgroup that it is in")
	}
}

func TestS06_WhichCgroupAProcessIsIn(t *testing.T) {
	for what, h := range hierarchies(t) {
		t.Run(what, func(t *testing.T) {
			i, other := instance(t, h), instance(t, h)
			inside := start(t, group(t, i, "exec-1"), "echo ready; exec sleep 1000")
			for _, tc := range []struct {
				what string
				pid  int
				in   *Instance
				want bool
			}{
				{"a command of ours", inside.Process.Pid, i, true},
				{"a command of another daemon's", inside.Process.Pid, other, false},
				{"this process", os.Getpid(), i, false},
				{"process 1", 1, i, false},
			} {
				p, err := h.Of(tc.pid)
				if err != nil {
					t.Fatal(err)
				}
				if got := tc.in.Contains(p); got != tc.want {
					t.Errorf("%s in %s: %v, want %v", tc.what, p, got, tc.want)
				}
			}
			if i.Contains(i.path+"x") || i.Contains(i.path+"/../other") {
				t.Error("a neighbour whose name begins alike is not ours")
			}
			if _, err := h.Of(1 << 22); err == nil {
				t.Error("a process that does not exist has a cgroup")
			}
		})
	}
}
