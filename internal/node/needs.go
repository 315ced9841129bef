package node

import (
	"fmt"
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
)

// The backends of Linux.
const (
	Bubblewrap = "linux_bwrap"    // bwrap makes the jail
	Alone      = "linux_landlock" // omnijail-init makes it, and no command starts without Landlock
	Nothing    = "none"           // no jail: limits alone, for weaken: [no_isolation]
)

// backend says what a backend needs: to run at all, and for each guarantee.
type backend struct {
	name    string
	run     []Name
	needs   map[jail.Guarantee][]Name
	refuses map[jail.Weakening]string // with what it lacks
}

// backends in order of preference.
var backends = []backend{
	{
		name: Bubblewrap,
		run:  []Name{Root, Bwrap, BwrapUsable, MountByFD, SafeOpen, Pidfd, Drop},
		needs: map[jail.Guarantee][]Name{
			jail.Files:            {MountByFD, SafeOpen, DevPTS},
			jail.NoPrivilege:      {Drop},
			jail.Syscalls:         {Seccomp},
			jail.NetworkOnlyProxy: {Network, Seccomp, Landlock},
			jail.LimitsHeld:       {KillGroup, Memory, Pids, CPU},
			jail.NoTrace:          {KillGroup},
			jail.Observed:         {Network, Steering},
		},
	},
	{
		name: Alone,
		run:  []Name{Root, Wall, MountByFD, SafeOpen, Pidfd, Bare},
		needs: map[jail.Guarantee][]Name{
			jail.Files:            {MountByFD, SafeOpen, DevPTS, Wall},
			jail.NoPrivilege:      {Bare},
			jail.Syscalls:         {Seccomp},
			jail.NetworkOnlyProxy: {Network, Seccomp, Landlock},
			jail.LimitsHeld:       {KillGroup, Memory, Pids, CPU},
			jail.NoTrace:          {KillGroup},
			jail.Observed:         {Network, Steering},
		},
		refuses: map[jail.Weakening]string{
			jail.WeakNestedSandbox: "mounts, and nothing behind Landlock may mount",
			jail.WeakCompatABI:     "a filter of Unix sockets for the 32-bit ABI",
		},
	},
}

// bare is no backend that is ever chosen: a policy has to ask for it in two words.
var bare = backend{
	name: Nothing, run: []Name{Root, Pidfd, KillGroup},
	needs: map[jail.Guarantee][]Name{jail.LimitsHeld: {KillGroup, Memory, Pids, CPU}},
}

// Refuses says what a backend would need to keep a jail with the weakening w;
// empty when it can.
func Refuses(name string, w jail.Weakening) string {
	i := slices.IndexFunc(backends, func(b backend) bool { return b.name == name })
	if i < 0 {
		return ""
	}
	return backends[i].refuses[w]
}

// advice is what no guarantee rests on and still should be put right.
var advice = []Name{Wall, Steering, Fence, CgroupV2, Swap, NodeMounts, CoreLimit, PeerPidfd}

// Guarantees lists what each backend promises on this node. A backend that cannot
// run here is not in it.
func (f Facts) Guarantees() map[string][]jail.Guarantee {
	given := map[string][]jail.Guarantee{}
	for _, b := range backends {
		if len(f.missing(b.run)) > 0 {
			continue
		}
		given[b.name] = []jail.Guarantee{}
		for _, g := range jail.Guarantees {
			if len(f.missing(b.needs[g])) == 0 {
				given[b.name] = append(given[b.name], g)
			}
		}
	}
	if len(f.missing(bare.run)) == 0 {
		given[Nothing] = []jail.Guarantee{}
		if len(f.missing(bare.needs[jail.LimitsHeld])) == 0 {
			given[Nothing] = append(given[Nothing], jail.LimitsHeld)
		}
	}
	return given
}

// Missing returns the facts for want of which a backend does not give a guarantee
// here: those that keep it from running come first. It is nil when the guarantee
// is given.
func (f Facts) Missing(name string, g jail.Guarantee) []Fact {
	i := slices.IndexFunc(backends, func(b backend) bool { return b.name == name })
	if i < 0 {
		return []Fact{{Name: Name(name), Detail: "no such backend", Fix: "use " + Bubblewrap + " or " + Alone}}
	}
	needs := slices.Clone(backends[i].run)
	for _, n := range backends[i].needs[g] {
		if !slices.Contains(needs, n) {
			needs = append(needs, n)
		}
	}
	return f.missing(needs)
}

// Obstacle says what keeps a backend from running here, and what to do about it;
// empty for one that runs.
func (f Facts) Obstacle(name string) (reason, fix string) {
	i := slices.IndexFunc(backends, func(b backend) bool { return b.name == name })
	if i < 0 {
		return "", ""
	}
	missing := f.missing(backends[i].run)
	if len(missing) == 0 {
		return "", ""
	}
	first := missing[0]
	fix = first.Fix + " (what this node can do: omnijailctl doctor)"
	if first.Name == BwrapUsable {
		return first.Detail + ", which this needs", fix
	}
	return fmt.Sprintf("%s cannot run here: %s: %s", name, first.Name, first.Detail), fix
}

// Names lists the backends that this build has, the preferred one first.
func Names() (names []string) {
	for _, b := range backends {
		names = append(names, b.name)
	}
	return names
}

// missing returns the facts among needs that are not known to hold.
func (f Facts) missing(needs []Name) []Fact {
	var missing []Fact
	for _, n := range needs {
		if fact := f.Get(n); fact.Answer != Yes {
			missing = append(missing, fact)
		}
	}
	return missing
}
