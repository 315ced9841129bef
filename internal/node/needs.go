package node

import (
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
)

// Bubblewrap is the backend that uses bwrap.
const Bubblewrap = "linux_bwrap"

// backend says what a backend needs: to run at all, and for each guarantee.
type backend struct {
	name  string
	run   []Name
	needs map[jail.Guarantee][]Name
}

// backends in order of preference.
var backends = []backend{{
	name: Bubblewrap,
	run:  []Name{Root, Bwrap, BwrapUsable, MountByFD, SafeOpen, Pidfd, Drop},
	needs: map[jail.Guarantee][]Name{
		jail.Files:            {MountByFD, SafeOpen, DevPTS},
		jail.NoPrivilege:      {Drop},
		jail.Syscalls:         {Seccomp},
		jail.NetworkOnlyProxy: {Network, Seccomp, Landlock},
		jail.LimitsHeld:       {KillGroup, Memory, Pids},
		jail.NoTrace:          {KillGroup},
		jail.Observed:         {Network},
	},
}}

// advice is what no guarantee rests on and still should be put right.
var advice = []Name{Wall, CgroupV2, NodeMounts, CoreLimit, PeerPidfd}

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
	return given
}

// Backends lists the backends that run here, the preferred one first.
func (f Facts) Backends() []string {
	var names []string
	for _, b := range backends {
		if len(f.missing(b.run)) == 0 {
			names = append(names, b.name)
		}
	}
	return names
}

// Missing returns the facts for want of which a backend does not give a guarantee
// here: those that keep it from running come first. It is nil when the guarantee
// is given.
func (f Facts) Missing(name string, g jail.Guarantee) []Fact {
	i := slices.IndexFunc(backends, func(b backend) bool { return b.name == name })
	if i < 0 {
		return []Fact{{Name: Name(name), Detail: "no such backend", Fix: "use " + Bubblewrap}}
	}
	needs := slices.Clone(backends[i].run)
	for _, n := range backends[i].needs[g] {
		if !slices.Contains(needs, n) {
			needs = append(needs, n)
		}
	}
	return f.missing(needs)
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
