package cgroup

import (
	"strings"
	"testing"
)

func TestFindPicksTheHierarchy(t *testing.T) {
	v1Only := strings.Join(strings.Split(hybridNode, "\n")[:6], "\n")
	for _, tc := range []struct {
		what, mounts, self string
		main, selfDir      string
		v2                 bool
		extra              int
	}{
		{"unified", unifiedNode, "0::/user.slice/x\n", "/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/x", true, 0},
		{"hybrid", hybridNode, "5:freezer:/f\n4:memory:/m\n8:pids:/\n0::/\n", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified", true, 2},
		{"v1", v1Only, "5:freezer:/f\n4:memory:/m\n", "/sys/fs/cgroup/freezer", "/sys/fs/cgroup/freezer/f", false, 1},
		{"container", container, "0::/docker/abc/sub\n", "/sys/fs/cgroup two", "/sys/fs/cgroup two/sub", true, 0},
	} {
		h, err := find(tc.mounts, tc.self)
		if err != nil {
			t.Errorf("%s: %v", tc.what, err)
			continue
		}
		if h.Mount() != tc.main || h.V2() != tc.v2 || len(h.extra) != tc.extra || h.main.dir(h.main.self) != tc.selfDir {
			t.Errorf("%s: %+v, extra %v, self at %s", tc.what, h.main, h.extra, h.main.dir(h.main.self))
		}
	}
	for what, mounts := range map[string]string{
		"nothing mounted":       "",
		"no freezer":            strings.ReplaceAll(v1Only, "freezer", "cpuset"),
		"somebody else's mount": "701 690 0:23 /docker/other /mnt rw - cgroup2 cgroup rw\n",
	} {
		if h, err := find(mounts, "5:cpuset:/\n4:memory:/\n0::/docker/abc\n"); err == nil {
			t.Errorf("%s: found %+v", what, h.main)
		}
	}
}
