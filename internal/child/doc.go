// Package child is what the daemon and omnijail-init say to each other. To run:
// the launch record, and the report of a command that did not start. To open, the
// scout: what to look at as the caller, and what it found. It is apart from the
// vocabulary of jails because everything it imports is part of a program that is
// started twice per command and must start at once.
package child
