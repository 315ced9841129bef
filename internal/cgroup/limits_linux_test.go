package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
	for _, l := range []Limits{{Memory: 1 << 30}, {Pids: 100}} {
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
