// Package seqpacket carries typed messages and descriptors between the daemon and
// a scout over a SOCK_SEQPACKET socket.
//
// A message is one JSON value, cut into packets of one flag byte ("more follows")
// and at most 48 KiB, with at most 64 descriptors on each: small enough for any
// socket buffer, and no packet is ever split by the kernel. The receiver bounds
// bytes and descriptors, refuses unknown fields and trailing data, and closes
// every descriptor of a message that it refuses.
package seqpacket
