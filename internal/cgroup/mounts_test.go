package cgroup

import (
	"reflect"
	"strings"
	"testing"
)

const (
	unifiedNode = "26 20 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
	hybridNode  = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw shared:9 master:1 - cgroup cgroup rw,xattr,release_agent=/x,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	container = `700 690 0:23 /docker/abc /sys/fs/cgroup\040two ro,nosuid - cgroup2 cgroup rw
701 690 0:23 /docker/other /mnt ro,nosuid - cgroup2 cgroup rw
`
)

func TestParseMounts(t *testing.T) {
	for _, tc := range []struct {
		what, text string
		want       []mount
	}{
		{"unified", unifiedNode, []mount{{"/", "/sys/fs/cgroup", true, nil}}},
		{"hybrid", hybridNode, []mount{
			{"/", "/sys/fs/cgroup/cpu,cpuacct", false, []string{"cpu", "cpuacct"}},
			{"/", "/sys/fs/cgroup/memory", false, []string{"memory"}},
			{"/", "/sys/fs/cgroup/freezer", false, []string{"freezer"}},
			{"/", "/sys/fs/cgroup/pids", false, []string{"pids"}},
			{"/", "/sys/fs/cgroup/systemd", false, []string{"name=systemd"}},
			{"/", "/sys/fs/cgroup/unified", true, nil},
		}},
		{"container", container, []mount{
			{"/docker/abc", "/sys/fs/cgroup two", true, nil},
			{"/docker/other", "/mnt", true, nil},
		}},
		{"not a mount", "a b c\n - \n1 2 3 / /x rw - cgroup2\n", nil},
	} {
		if got := parseMounts(tc.text); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.what, got, tc.want)
		}
	}
}

func TestParseMembership(t *testing.T) {
	got := parseMembership("9:name=systemd:/\n4:memory:/a:b\n1:cpu,cpuacct:/c\n0::/x.slice/y (deleted)\nbad\n7:pids:relative\n")
	want := membership{"name=systemd": "/", "memory": "/a:b", "cpu": "/c", "cpuacct": "/c", "": "/x.slice/y"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBelow(t *testing.T) {
	for _, tc := range []struct {
		p, dir string
		want   bool
	}{
		{"/a", "/a", true}, {"/a/b", "/a", true}, {"/a", "/", true}, {"/", "/", true},
		{"/ab", "/a", false}, {"/", "/a", false}, {"/b/a", "/a", false},
	} {
		if got := below(tc.p, tc.dir); got != tc.want {
			t.Errorf("below(%q, %q) = %v", tc.p, tc.dir, got)
		}
	}
}

// FuzzParse reads arbitrary text as either file: a process can choose the names of
// its mount points, if not their kinds.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{unifiedNode, hybridNode, container, "0::/\n", `1 1 0:1 /\ /\0 rw - cgroup2 x x`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseMounts(text) {
			if !m.v2 && len(m.controllers) == 0 {
				t.Errorf("a mount of no hierarchy: %+v", m)
			}
		}
		for _, p := range parseMembership(text) {
			if !strings.HasPrefix(p, "/") || strings.Contains(p+"/", "/../") {
				t.Errorf("a path that is not absolute and clean: %q", p)
			}
		}
	})
}
