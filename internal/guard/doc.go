// Package guard says which addresses nobody may be led to: what is not the public
// internet, the node itself, and where clouds hand out credentials. The dialler of
// an egress process asks it for every address, and the daemon makes the table of
// the kernel's fence around that process from the same lists. It is pure but for
// NodeAddrs.
package guard
