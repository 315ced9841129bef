package node

import (
	"fmt"
	"strings"

	"github.com/omnijail/omnijail/internal/landlock"
)

const newerLandlock = "run Linux 5.19 or newer with landlock in the list of security modules (lsm= on the kernel's command line)"

// landlocks are two facts of one version: any Landlock cages the egress process,
// and from some version on it also walls off commands in jails.
func landlocks(abi int) []Fact {
	if abi == 0 {
		const none = "not in this kernel, or not turned on"
		return []Fact{
			{Name: Landlock, Answer: No, Detail: none, Fix: newerLandlock},
			{Name: Wall, Answer: No, Detail: "jails have their mounts alone: Landlock is " + none, Fix: newerLandlock},
		}
	}
	seen := fmt.Sprintf("ABI %d", abi)
	if gaps := landlock.Gaps(abi); len(gaps) > 0 {
		seen += ", which lacks: " + strings.Join(gaps, ", ")
	}
	facts := []Fact{{Name: Landlock, Answer: Yes, Detail: seen}, {Name: Wall, Answer: Yes, Detail: "Landlock behind the mounts of each jail"}}
	if !landlock.Holds(abi) {
		facts[1] = Fact{Name: Wall, Answer: No, Fix: newerLandlock,
			Detail: "jails have their mounts alone: this Landlock would refuse every move between directories"}
	}
	return facts
}
