// Package observe reads what the packet socket of a jail's namespace has received:
// packets that show what the kernel refused, see bpf.Refused. It says what the jail
// tried, and nothing of what it sent.
//
// It runs in the egress process. Frames are the kernel's own words for the most
// part, but what they repeat was written in the jail, so all of them are read as
// hostile: by gopacket's decoders, of a bounded length, into layers of a fixed
// number. A flood is read at a bounded rate; what comes faster is dropped by the
// kernel.
package observe
