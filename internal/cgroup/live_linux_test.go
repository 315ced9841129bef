package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hang bounds what should take milliseconds; no test passes by reaching it.
const hang = 20 * time.Second

// hierarchies returns what this node has, as it is and as if it had no v2.
func hierarchies(t testing.TB) map[string]*Hierarchy {
	t.Helper()
	h, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*Hierarchy{"as mounted": h}
	if old := v1Only(t); old != nil {
		all["v1 alone"] = old
	}
	return all
}

// v1Only returns the hierarchies of this node without v2, nil if it has no freezer.
func v1Only(t testing.TB) *Hierarchy {
	t.Helper()
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	h, err := find(strings.ReplaceAll(string(mountinfo), "cgroup2", "none"), string(self))
	if err != nil {
		return nil
	}
	return h
}

// instance makes a subtree that is swept when the test ends.
func instance(t testing.TB, h *Hierarchy) *Instance {
	t.Helper()
	id := fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano())
	i, err := h.Instance(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hang)
		defer cancel()
		if err := h.Sweep(ctx, id); err != nil {
			t.Errorf("sweep: %v", err)
		}
		if _, err := os.Stat(h.main.dir(i.path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the sweep: %v", err)
		}
	})
	return i
}

func group(t testing.TB, i *Instance, name string) *Group {
	t.Helper()
	g, err := i.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// start runs a shell script in g and returns once it has printed "ready".
func start(t *testing.T, g *Group, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	if g.Dir() != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(g.Dir().Fd())}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := startInside(g, cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return cmd
}

func startInside(g *Group, cmd *exec.Cmd) error {
	runtime.LockOSThread()
	leave, err := g.Enter()
	if err != nil {
		return err
	}
	defer runtime.UnlockOSThread()
	return errors.Join(cmd.Start(), leave())
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	return ctx
}
