package child

// GateRequest makes a scout carry connections of TCP between the node's loopback
// and a jail's. With it come unconnected sockets of the jail's network, GateStock of
// them, and then a listening one of the jail's for each of NodePorts.
type GateRequest struct {
	Publish   []uint16 `json:"publish,omitempty"`    // it listens there on the node
	NodePorts []uint16 `json:"node_ports,omitempty"` // it connects there on the node
}

// GateStock is how many sockets of the jail's network a gate has in hand.
const GateStock = 4

// GateReply says that the gate stands, or why it does not.
type GateReply struct {
	Err *OpenError `json:"err,omitempty"`
}

// GateAsk asks the daemon for one more socket of the jail's network, in place of
// one that was used. GateSocket comes with it.
type GateAsk struct{}

// GateSocket comes with an unconnected socket, or without where none can be made.
type GateSocket struct{}
