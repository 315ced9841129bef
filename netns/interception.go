package netns

import (
	"fmt"
	"net/netip"
)

// Interception is how a jail's connections come to the listeners.
type Interception uint8

// The interceptions.
const (
	// Steered takes each connection, whatever its port, by a sk_lookup program
	// (Linux 5.9). The jail keeps every port for servers of its own.
	Steered Interception = iota
	// ByPort takes the connections to the ports that Open is told of, and refuses
	// all others unseen. These ports are taken from the jail.
	ByPort
)

// String is the name that the configuration knows it by.
func (i Interception) String() string {
	switch i {
	case Steered:
		return "sk_lookup"
	case ByPort:
		return "ports"
	}
	return fmt.Sprintf("Interception(%d)", uint8(i))
}

// Opening says which sockets a jail has besides those that every one has.
type Opening struct {
	Ports     []uint16     // ByPort: the ports whose connections are taken
	Addresses []netip.Addr // ByPort: those that connections are taken for besides names'
	Proxy     bool         // listeners at ProxyPort
	Packets   bool         // a socket for the packets that the kernel refused
}
