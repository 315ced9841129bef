package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// traces is what a running stage has on the machine, noted to be looked for when
// it should be gone.
type traces struct {
	dir       string
	processes map[int]string // pid to start time: pids are used again
	cgroups   map[string]bool
}

// traces notes the daemon, everything that it started, and their cgroups.
func (st *stage) traces() *traces {
	t := &traces{dir: st.dir, processes: map[int]string{}, cgroups: map[string]bool{}}
	t.note(st.pid)
	return t
}

func (t *traces) note(pid int) {
	start := started(pid)
	if start == "" || t.processes[pid] != "" {
		return
	}
	t.processes[pid] = start
	lines, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(lines)) {
		_, path, _ := strings.Cut(strings.TrimSpace(line), ":/")
		if i := strings.Index(path, "omnijail-"); i >= 0 {
			instance, _, _ := strings.Cut(path[i:], "/")
			t.cgroups[instance] = true
		}
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(children)) {
			var pid int
			if _, err := fmt.Sscan(child, &pid); err == nil {
				t.note(pid)
			}
		}
	}
}

// started is when a process began, in ticks since the boot; empty when it is gone.
func started(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// left names what is still there.
func (t *traces) left() (left []string) {
	for pid, start := range t.processes {
		if started(pid) == start {
			left = append(left, fmt.Sprintf("process %d", pid))
		}
	}
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && t.cgroups[d.Name()] {
			left = append(left, "cgroup "+path)
			return filepath.SkipDir
		}
		return nil // what cannot be read has gone meanwhile
	})
	if _, err := os.Lstat(t.dir); err == nil {
		left = append(left, t.dir)
	}
	return left
}
