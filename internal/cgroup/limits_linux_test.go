package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestLimitsAreEnforced(t *testing.T) {
	for what, h := range hierarchies(t) {
		for _, tc := range []struct {
			controller string
			limits     Limits
			script     string
		}{
			{"memory", Limits{Memory: 24 << 20}, "head -c 100000000 /dev/zero | tail"},
			{"pids", Limits{Pids: 5}, "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done"},
		} {
			t.Run(what+"/"+tc.controller, func(t *testing.T) {
				g := group(t, instance(t, h), "exec-1")
				err := g.SetLimits(tc.limits)
				if h.Controller(tc.controller) == 0 {
					if !errors.Is(err, ErrNoController) {
						t.Errorf("without a controller: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("/bin/sh", "-c", tc.script)
				if g.Dir() != nil {
					cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(g.Dir().Fd())}
				}
				if err := startInside(g, cmd); err != nil {
					t.Fatal(err)
				}
				var exit *exec.ExitError
				if err := cmd.Wait(); !errors.As(err, &exit) {
					t.Errorf("within the limit: %v, want a failure", err)
				}
				if err := g.Kill(); err != nil {
					t.Error(err)
				}
				if err := g.WaitEmpty(deadline(t)); err != nil {
					t.Error(err)
				}
				if err := g.Remove(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A group that has used up its time waits for more of it.
func TestProcessorTimeIsBounded(t *testing.T) {
	for what, h := range hierarchies(t) {
		t.Run(what, func(t *testing.T) {
			g := group(t, instance(t, h), "exec-1")
			if err := g.SetLimits(Limits{CPU: 100}); h.Controller("cpu") == 0 {
				if !errors.Is(err, ErrNoController) {
					t.Errorf("without a controller: %v", err)
				}
				return
			} else if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
			if err := g.Start(cmd); err != nil {
				t.Fatal(err)
			}
			for ctx := deadline(t); g.counter("cpu", "cpu.stat", "cpu.stat", "nr_throttled") == 0; {
				if ctx.Err() != nil {
					t.Error("it never waits")
					break
				}
			}
			if err := errors.Join(g.Kill(), g.WaitEmpty(deadline(t))); err != nil {
				t.Error(err)
			}
			cmd.Wait()
		})
	}
}

// Swap is what may be used besides memory, in the words of each version.
func TestSwapBesidesMemory(t *testing.T) {
	for what, h := range hierarchies(t) {
		t.Run(what, func(t *testing.T) {
			counted, known := h.CountsSwap()
			if !known {
				return // no controller: refused, as the test of limits shows
			}
			g := group(t, instance(t, h), "exec-1")
			err := g.SetLimits(Limits{Memory: 64 << 20, Swap: 32 << 20})
			if !counted {
				if !errors.Is(err, ErrNoSwap) {
					t.Errorf("nothing counts swap, and setting it says %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			file, want := swapV1, "100663296"
			if h.Controller("memory") == 2 {
				file, want = swapV2, "33554432"
			}
			text, err := os.ReadFile(filepath.Join(g.dirs[len(g.dirs)-1], file))
			if err != nil || strings.TrimSpace(string(text)) != want {
				t.Errorf("%s: %q, %v, want %s", file, text, err, want)
			}
		})
	}
}

// A kernel that bounds memory and does not count swap has no file for it. Without a
// word of swap that is how it is; a limit that was asked for is refused.
func TestSwapThatNobodyCountsIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "exec-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "exec-1", "memory.limit_in_bytes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	real := instance(t, h)
	leaf := group(t, real, "exec-1")
	g := &Group{name: "exec-1", instance: &Instance{h: h, path: leaf.Path(), v1: map[string]string{"memory": dir}}}
	if err := g.SetLimits(Limits{Memory: 64 << 20}); err != nil {
		t.Errorf("memory alone: %v", err)
	}
	if err := g.SetLimits(Limits{Memory: 64 << 20, Swap: 32 << 20}); !errors.Is(err, ErrNoSwap) {
		t.Errorf("swap that nobody counts: %v", err)
	}
}

func TestALimitThatNobodyEnforcesIsRefused(t *testing.T) {
	h, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	real := instance(t, h)
	outer := group(t, real, "exec-1")
	// Nothing is enabled below a leaf.
	i := &Instance{h: h, id: real.id, path: outer.Path()}
	g := group(t, i, "exec-2")
	for _, l := range []Limits{{Memory: 1 << 30}, {Pids: 100}, {CPU: 500}} {
		if err := g.SetLimits(l); !errors.Is(err, ErrNoController) {
			t.Errorf("SetLimits(%+v): %v", l, err)
		}
	}
	half := &Instance{h: h, id: real.id, path: i.path, v1: map[string]string{"pids": real.v1["pids"]}}
	if real.v1["pids"] != "" {
		g := group(t, half, "exec-3")
		if err := g.SetLimits(Limits{Memory: 1 << 30, Pids: 100}); !errors.Is(err, ErrNoController) {
			t.Errorf("one of two: %v", err)
		}
		text, err := os.ReadFile(filepath.Join(real.v1["pids"], "exec-3", "pids.max"))
		if err != nil || string(text) != "100\n" {
			t.Errorf("the other of two: %q, %v", text, err)
		}
	}
	if err := g.SetLimits(Limits{}); err != nil {
		t.Errorf("no limits: %v", err)
	}
}
