package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Kill sends SIGKILL to everything in the group and below it, without a gap that
// a fork could slip through. It returns before they are gone: see WaitEmpty. A
// group that is gone already is no error.
func (g *Group) Kill() error {
	if err := g.tree.kill(g.path); err != nil {
		return fmt.Errorf("kill cgroup: %w", err)
	}
	return nil
}

func (t *tree) kill(p string) error {
	dir := t.dir(p)
	err := os.ErrNotExist
	if t.v2 {
		err = write(filepath.Join(dir, "cgroup.kill"), "1")
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return t.freezeAndKill(p) // v1, or v2 before Linux 5.14
}

// freezeAndKill keeps the members from forking while they are killed one by one.
// SIGKILL reaches a process of a v1 group when it is thawed.
func (t *tree) freezeAndKill(p string) error {
	dir := t.dir(p)
	err := t.freeze(dir)
	return errors.Join(err, t.killMembers(p), t.thaw(dir))
}

// frozenWithin bounds the wait for a group to freeze. A process in an
// uninterruptible call may not freeze; it cannot fork either.
const frozenWithin = time.Second

func (t *tree) freeze(dir string) error {
	file, value := t.freezer()
	deadline := time.Now().Add(frozenWithin)
	for {
		if err := write(filepath.Join(dir, file), value); err != nil {
			return err
		}
		frozen, err := t.frozen(dir)
		if err != nil || frozen || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Microsecond) // v1 has nothing to wait on
	}
}

func (t *tree) freezer() (file, frozen string) {
	if t.v2 {
		return "cgroup.freeze", "1"
	}
	return "freezer.state", "FROZEN"
}

func (t *tree) frozen(dir string) (bool, error) {
	if t.v2 {
		value, err := event(filepath.Join(dir, "cgroup.events"), "frozen")
		return value == "1", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "freezer.state"))
	return strings.TrimSpace(string(text)) == "FROZEN", err
}

// thaw thaws what is below, too: whoever froze one of those may have died before
// it came to thawing.
func (t *tree) thaw(dir string) error {
	file, value := "freezer.state", "THAWED"
	if t.v2 {
		file, value = "cgroup.freeze", "0"
	}
	return walk(dir, func(d string) error { return write(filepath.Join(d, file), value) })
}

// walk calls visit for each cgroup at and below dir. One that was removed
// meanwhile is no error.
func walk(dir string, visit func(dir string) error) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = visit(name)
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			return nil
		}
		return err
	})
}

// killMembers kills each process that is in the cgroup p or below it now.
func (t *tree) killMembers(p string) error {
	pids, err := members(t.dir(p))
	errs := []error{err}
	for _, pid := range pids {
		errs = append(errs, t.killMember(p, pid))
	}
	return errors.Join(errs...)
}

// killMember kills the process called pid if that is one of the cgroup's once we
// hold it.
func (t *tree) killMember(p string, pid int) error {
	fd, err := t.hold(p, pid)
	if fd < 0 || err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	return nil
}

// hold returns a descriptor of the process called pid, or -1 if it is not in the
// cgroup p. The number could be another process's by the time it is opened;
// therefore its cgroup is read afterwards.
func (t *tree) hold(p string, pid int) (fd int, err error) {
	fd, err = unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return -1, nil
	}
	if err != nil {
		return -1, fmt.Errorf("open process %d: %w", pid, err)
	}
	if now, err := t.of(pid); err != nil || !below(now, p) {
		unix.Close(fd)
		return -1, nil
	}
	return fd, nil
}

// members lists the processes in the cgroup directory dir and below it, but never
// this one: a thread of it may be passing through.
func members(dir string) ([]int, error) {
	var pids []int
	err := walk(dir, func(d string) error {
		text, err := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
		return err
	})
	return pids, err
}
