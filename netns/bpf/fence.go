package bpf

import "net/netip"

// Verdict is what a fence's table says of a prefix.
type Verdict uint32

// The verdicts.
const (
	Open    Verdict = 1 + iota // as if no prefix held it
	Private                    // closed unless an opening has it
	Never                      // closed unless pinned by address and port
)

// Rule is one prefix of a fence's table. It has 128 bits; IPv4 is mapped. Of
// several that hold an address the longest decides.
type Rule struct {
	Prefix  netip.Prefix
	Verdict Verdict
}

// Exceptions are what one process may reach all the same.
type Exceptions struct {
	Pins     []netip.AddrPort // addresses and ports, whatever the table says
	Openings []netip.Prefix   // of 128 bits; private prefixes that are open
}

// The most that a table or the exceptions of a process may hold.
const (
	maxRules    = 16 << 10
	maxPins     = 16 << 10
	maxOpenings = 16 << 10
	addrBits    = 128
)
