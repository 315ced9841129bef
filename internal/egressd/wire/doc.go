// Package wire is the language between the daemon and an egress process: frames
// on a SOCK_SEQPACKET pair, the messages in them, and the two documents (Config,
// Spec) that travel beside them in sealed memfds.
//
// One frame is one packet: a fixed header (kind, flags, sequence, length) and at
// most MaxBody bytes. Descriptors travel from the daemon to the egress process
// only. What comes the other way is hostile: Receive takes no descriptor and
// DecodeUp accepts a closed list of messages whose fields are numbers in range,
// a jail id of fixed form and strings with a cap. Strings stay opaque; nothing in
// a message is a path, a pid, a command or a descriptor to act on. Any error of
// Receive or DecodeUp means that the egress process is to be ended.
//
// The conversation:
//
//	daemon → egress    Hello, Attach, Secret, Detach, Ack, Freeze, Replace
//	egress → daemon    Answer, Event, Events, Outcome, Refresh, Gone
//
// Hello, Attach, Detach, Freeze and Replace are each answered by one Answer that
// repeats their sequence number. A Secret is answered by an Outcome, when the value was
// read. An Event without NoAck waits for its Ack: what it describes happens only
// after the daemon has written it down.
package wire
