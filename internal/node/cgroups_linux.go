package node

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/cgroup"
)

const mountV2 = "boot with systemd.unified_cgroup_hierarchy=1, or mount -t cgroup2 none /sys/fs/cgroup/unified"

func cgroups() []Fact {
	h, err := cgroup.Find()
	if err != nil {
		var facts []Fact
		for _, n := range []Name{KillGroup, CgroupV2, Memory, Swap, Pids, CPU} {
			facts = append(facts, Fact{Name: n, Answer: No, Detail: err.Error(), Fix: mountV2})
		}
		return facts
	}
	place := h.Mount()
	if h.Delegated() {
		place += ", delegated by systemd"
	}
	facts := []Fact{
		{Name: KillGroup, Answer: Yes, Detail: place},
		{Name: CgroupV2, Answer: Yes, Detail: place},
		controller(h, Memory, "memory"),
		swap(h),
		controller(h, Pids, "pids"),
		controller(h, CPU, "cpu"),
	}
	if err := unix.Access(h.Mount(), unix.W_OK); err != nil {
		facts[0] = Fact{Name: KillGroup, Answer: No, Detail: fmt.Sprintf("%s: %v", place, err),
			Fix: "mount cgroups writable, or start omnijaild outside of this container"}
	}
	if !h.V2() {
		facts[1] = Fact{Name: CgroupV2, Answer: No, Detail: "version 1 alone: a group is frozen to be killed", Fix: mountV2}
	}
	return facts
}

func controller(h *cgroup.Hierarchy, name Name, controller string) Fact {
	version := h.Controller(controller)
	if version == 0 {
		return Fact{Name: name, Answer: No, Detail: "no controller for " + controller,
			Fix: "Delegate=yes in the unit, or enable " + controller + " in cgroup.subtree_control at the root"}
	}
	return Fact{Name: name, Answer: Yes, Detail: fmt.Sprintf("cgroup v%d", version)}
}

// swap says whether memory that went to swap is still counted: where it is not, a
// memory limit bounds what stays in memory alone.
func swap(h *cgroup.Hierarchy) Fact {
	const fix = "boot with swapaccount=1"
	switch counted, known := h.CountsSwap(); {
	case !known:
		return Fact{Name: Swap, Detail: "no group has a memory limit to look at", Fix: fix}
	case !counted:
		return Fact{Name: Swap, Answer: No, Detail: "the kernel does not count swap", Fix: fix}
	}
	return Fact{Name: Swap, Answer: Yes, Detail: "swap is counted"}
}
