// Package dnsstub is a jail's name server. It resolves nothing: a name that some
// rule could allow has a synthetic address of its own, made up on first use and
// stable for the life of the jail, and every other name does not exist. No byte
// of any name leaves the node by asking here.
//
// The address is how the proxy knows which name a connection is for, so each
// name has one pair (IPv4 and IPv6) and no two names share one. HTTPS and SVCB
// records, which would lead clients to other ports and protocols, are always
// empty, as is every type but A, AAAA and PTR.
//
// Queries come from the jail and are read as hostile: one question, no more than
// 4096 bytes, and an answer that is never larger than a plain datagram allows.
// Names allowed by a wildcard alone are limited per minute, because each of them
// could carry data to whoever runs the domain once it is connected to.
package dnsstub
