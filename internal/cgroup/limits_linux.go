package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// setting is one file of a controller.
type setting struct {
	controller string
	v2, v1     string
	value      string
	optional   bool // the file exists only where swap is counted
}

// swap reports whether the setting is of swap.
func (s setting) swap() bool { return s.v2 == swapV2 || s.v1 == swapV1 }

// The files that are there only where swap is counted.
const (
	swapV2 = "memory.swap.max"
	swapV1 = "memory.memsw.limit_in_bytes"
)

func (l Limits) settings() []setting {
	var s []setting
	if l.Memory > 0 {
		s = append(s,
			setting{"memory", "memory.max", "memory.limit_in_bytes", number(l.Memory), false},
			setting{"memory", swapV2, "", number(l.Swap), l.Swap == 0},
			setting{"memory", "", swapV1, number(l.Memory + l.Swap), l.Swap == 0},
			setting{"memory", "memory.oom.group", "", "1", true})
	}
	if l.Pids > 0 {
		s = append(s, setting{"pids", "pids.max", "pids.max", number(l.Pids), false})
	}
	if l.CPU > 0 {
		quota := number(l.CPU * cpuPeriod / 1000)
		s = append(s,
			setting{"cpu", "cpu.max", "", quota + " " + number(cpuPeriod), false},
			setting{"cpu", "", "cpu.cfs_period_us", number(cpuPeriod), false},
			setting{"cpu", "", "cpu.cfs_quota_us", quota, false})
	}
	return s
}

// cpuPeriod is the time in microseconds over which processor time is counted.
const cpuPeriod = 100_000

func number(n int64) string { return strconv.FormatInt(n, 10) }

// SetLimits sets the limits, before anything is started in the group. An error
// that wraps ErrNoController says that this node cannot keep one of them; the
// others are set.
func (g *Group) SetLimits(l Limits) error {
	var errs []error
	for _, s := range l.settings() {
		err := g.set(s)
		if s.swap() && errors.Is(err, os.ErrNotExist) {
			err = ErrNoSwap
		}
		switch missing := (*MissingError)(nil); {
		case errors.As(err, &missing):
			errs = append(errs, err)
		case err != nil:
			errs = append(errs, fmt.Errorf("limit %s: %w", s.controller, err))
		}
	}
	return errors.Join(errs...)
}

func (g *Group) set(s setting) error {
	dir, file, err := g.place(s)
	if err != nil || file == "" {
		return err
	}
	err = write(filepath.Join(dir, file), s.value)
	if s.optional && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// place returns the directory and file of a setting. In v1 the group gets its
// directory when the first limit needs it.
func (g *Group) place(s setting) (dir, file string, err error) {
	if g.instance.has(s.controller) {
		return g.dirs[0], s.v2, nil
	}
	parent, ok := g.instance.v1[s.controller]
	if !ok && s.optional {
		return "", "", nil // said already by the setting that is not
	}
	if !ok {
		return "", "", &MissingError{s.controller}
	}
	dir = filepath.Join(parent, g.name)
	if err := makeDir(dir); err != nil {
		return "", "", err
	}
	if !slices.Contains(g.dirs, dir) {
		g.dirs = append(g.dirs, dir)
	}
	return dir, s.v1, nil
}
