package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tree is one mounted hierarchy and where this process is in it.
type tree struct {
	mount
	self string
}

// dir returns the directory of the cgroup called p, which must be below root.
func (t *tree) dir(p string) string {
	return filepath.Join(t.point, strings.TrimPrefix(p, strings.TrimSuffix(t.root, "/")))
}

// Hierarchy is what this node has mounted, as this process sees it.
type Hierarchy struct {
	main  *tree            // where groups are made: v2, else the v1 freezer
	extra map[string]*tree // v1 hierarchies of the controllers that limits need
}

// limiters are the controllers that Limits asks for.
var limiters = []string{"memory", "pids", "cpu"}

// Find reads what is mounted. It fails where there is neither v2 nor the v1
// freezer: then a command could not be killed whole.
func Find() (*Hierarchy, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	return find(string(mountinfo), string(self))
}

func find(mountinfo, cgroup string) (*Hierarchy, error) {
	mounts, self := parseMounts(mountinfo), parseMembership(cgroup)
	h := &Hierarchy{main: pick(mounts, self, ""), extra: map[string]*tree{}}
	if h.main == nil {
		h.main = pick(mounts, self, "freezer")
	}
	if h.main == nil {
		return nil, errors.New("find cgroups: neither cgroup v2 nor the v1 freezer is mounted (mount -t cgroup2 none /sys/fs/cgroup)")
	}
	for _, c := range limiters {
		if t := pick(mounts, self, c); t != nil {
			h.extra[c] = t
		}
	}
	return h, nil
}

// pick returns the mount of a hierarchy that shows this process's own cgroup,
// the one with the most of the hierarchy if there are several.
func pick(mounts []mount, self membership, controller string) *tree {
	var best *tree
	for _, m := range mounts {
		mine, member := self[controller]
		matches := m.v2 && controller == "" || slices.Contains(m.controllers, controller)
		if !matches || !member || !below(mine, m.root) {
			continue
		}
		if best == nil || len(m.root) < len(best.root) {
			best = &tree{mount: m, self: mine}
		}
	}
	return best
}

// V2 reports whether groups are made in a cgroup v2 hierarchy.
func (h *Hierarchy) V2() bool { return h.main.v2 }

// Mount returns where the hierarchy that groups are made in is mounted.
func (h *Hierarchy) Mount() string { return h.main.point }

// Delegated reports whether systemd has given this process's cgroup to it.
func (h *Hierarchy) Delegated() bool {
	_, ok := h.delegated()
	return ok
}

// Controller says which version of cgroups can enforce a limit here, 2 or 1, or
// 0 for none.
func (h *Hierarchy) Controller(name string) int {
	if h.main.v2 && slices.Contains(h.offered(h.parent()), name) {
		return 2
	}
	if h.extra[name] != nil {
		return 1
	}
	return 0
}

// CountsSwap reports whether swap is counted where memory is bounded. It is not
// known where no group of this node has a memory limit yet.
func (h *Hierarchy) CountsSwap() (counted, known bool) {
	switch h.Controller("memory") {
	case 1:
		_, err := os.Stat(filepath.Join(h.extra["memory"].point, swapV1))
		return err == nil, true
	case 2:
		// The root has no limits of its own; v2 files are in the groups below it.
		for _, pattern := range []string{"*", "*/*"} {
			bounded, _ := filepath.Glob(filepath.Join(h.main.point, pattern, "memory.max"))
			if len(bounded) > 0 {
				_, err := os.Stat(filepath.Join(filepath.Dir(bounded[0]), swapV2))
				return err == nil, true
			}
		}
	}
	return false, false
}

// offered returns the controllers that a child of the v2 cgroup p can have: those
// that p has, where we may enable them, else those that are enabled.
func (h *Hierarchy) offered(p string) []string {
	file := "cgroup.subtree_control"
	if h.Delegated() {
		file = "cgroup.controllers"
	}
	text, err := os.ReadFile(filepath.Join(h.main.dir(p), file))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// Of returns the cgroup of a process in the hierarchy that groups are made in.
// The number means nothing unless the caller holds a pidfd of the process that
// is alive before and after.
func (h *Hierarchy) Of(pid int) (string, error) { return h.main.of(pid) }

func (t *tree) of(pid int) (string, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return "", fmt.Errorf("cgroup of process %d: %w", pid, err)
	}
	p, ok := parseMembership(string(text))[t.key()]
	if !ok {
		return "", fmt.Errorf("cgroup of process %d: not in the hierarchy at %s", pid, t.point)
	}
	return p, nil
}

// key is the tree's key in a membership.
func (t *tree) key() string {
	if t.v2 {
		return ""
	}
	return t.controllers[0]
}

// daemonLeaf is the child of a delegated cgroup that the daemon itself moves to:
// v2 has no processes in a cgroup that hands controllers down.
const daemonLeaf = "omnijaild"

// delegated returns the cgroup that systemd has delegated to this process: its
// own, or the one above when the daemon has moved to its leaf already.
func (h *Hierarchy) delegated() (string, bool) {
	candidates := []string{h.main.self}
	if up := path.Dir(h.main.self); up != h.main.self && below(up, h.main.root) {
		candidates = []string{up, h.main.self}
	}
	for _, p := range candidates {
		for _, attr := range []string{"trusted.delegate", "user.delegate"} {
			var value [8]byte
			n, err := unix.Getxattr(h.main.dir(p), attr, value[:])
			if err == nil && string(value[:n]) == "1" {
				return p, true
			}
		}
	}
	return "", false
}

// parent returns the cgroup below which instances are made.
func (h *Hierarchy) parent() string {
	if p, ok := h.delegated(); ok {
		return p
	}
	return h.main.root
}
