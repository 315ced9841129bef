// Package scout is the code of "omnijail-init open": a child of the daemon that
// becomes the caller and then looks at the caller's files, so that root never
// does. It may block on a file system of the caller's for ever, and whatever it
// answers is worth as much as the caller's own word.
//
// It starts as root with an empty environment, descriptor 3 a socket to the
// daemon (see internal/seqpacket) and, when stdio is passed, descriptor 4 the
// client's connection. The first packet is a child.ScoutAsk. The scout drops to
// the credential in it, verifies that, and touches nothing before.
//
// Asked to open, it receives and vets the client's descriptors, opens every grant
// as O_PATH, looks for dot entries, masks, sockets, pins, protected names and other
// names of those, finds the executable with what it needs and the git identity, and
// answers with one child.OpenReply. Then it waits for the staged trees and answers
// with a descriptor per name below them.
//
// Asked to watch, it looks for names that a command makes and that run by
// themselves outside, and moves them aside while the daemon keeps the command
// still. It speaks in child.WatchFrames.
//
// Asked for a source, it writes the value to the pipe that came along and answers
// with a child.SourceReply.
package scout
