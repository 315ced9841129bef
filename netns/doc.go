// Package netns makes the network of a jail: a namespace that has loopback and
// nothing else, in which every address is local, and whose only sockets with an
// outside are ours.
//
// New leaves the namespace ready: lo is up, 0.0.0.0/0 and ::/0 are local to it,
// and four sockets exist. Two listeners, bound to synthetic addresses and
// ephemeral ports so that they take nothing from the jail, receive each TCP
// connection to any address but loopback (see package bpf); the connection's
// LocalAddr is where it wanted to go. Two datagram sockets receive port 53 of
// every address. Other datagrams are refused by the kernel at once, ICMP echo is
// not answered, MPTCP is off, and a jail may bind any port.
//
// That is a namespace which is Steered. ByPort, where the kernel has no sk_lookup,
// there are no listeners until Open makes one for each port that rules name; those
// ports are taken from the jail, and connections to others are refused unseen. The
// rest is the same, as far as the kernel has it: see makeLocal.
//
// The namespace belongs to the initial user namespace, so no capability that a
// jail could gain in a user namespace of its own says anything here.
//
// The sockets are handed to the process that serves them, then Forget closes the
// copies: when that process dies, connections are refused at once instead of
// queueing in a listener that nobody accepts from. The Net itself must stay
// referenced for the life of the jail and be closed after it; without it the
// steering ends and connections are refused.
//
// A Pool keeps namespaces ready. It never takes one back.
package netns
