package dnsstub

import (
	"errors"
	"net/netip"
	"sync"

	"github.com/omnijail/omnijail/netns/addrplan"
)

// MaxNames is how many names one jail can have, over its whole life.
const MaxNames = 8192

// Errors of Addrs and of a query that would need a new name.
var (
	ErrTooManyNames = errors.New("this jail has asked for too many different names")
	ErrTooFast      = errors.New("this jail asks for new names under a wildcard too fast")
)

// Names is one jail's mapping of names to synthetic addresses and back. It is
// safe for concurrent use.
type Names struct {
	mu       sync.Mutex
	numbers  map[string]uint32 // host to host number of the address plan
	hosts    []string          // hosts[i] has number addrplan.Reserved + i
	wildcard budget
}

// NewNames returns an empty mapping.
func NewNames() *Names {
	return &Names{numbers: map[string]uint32{}, wildcard: newBudget()}
}

// Addrs returns the addresses of host, which must be as egress.ParseHost returns
// it, and makes them up on first use. The only error is ErrTooManyNames.
func (n *Names) Addrs(host string) (v4, v6 netip.Addr, err error) {
	return n.addrs(host, true)
}

// addrs is Addrs with a limit on new names per minute unless the name is listed
// in full by a rule. Errors are ErrTooManyNames and ErrTooFast.
func (n *Names) addrs(host string, listed bool) (v4, v6 netip.Addr, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number, known := n.numbers[host]
	if !known {
		switch {
		case len(n.hosts) >= MaxNames:
			return v4, v6, ErrTooManyNames
		case !listed && !n.wildcard.take():
			return v4, v6, ErrTooFast
		}
		number = addrplan.Reserved + uint32(len(n.hosts))
		n.numbers[host] = number
		n.hosts = append(n.hosts, host)
	}
	v4, v6 = addrplan.Host(number)
	return v4, v6, nil
}

// Name returns the host that a stands for, if it stands for one.
func (n *Names) Name(a netip.Addr) (string, bool) {
	number, ok := addrplan.Number(a)
	if !ok || number < addrplan.Reserved {
		return "", false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	i := number - addrplan.Reserved
	if i >= uint32(len(n.hosts)) {
		return "", false
	}
	return n.hosts[i], true
}
