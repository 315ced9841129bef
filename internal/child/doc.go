// Package child is what the daemon and omnijail-init run say to each other: the
// launch record, and the report of a command that did not start. It is apart
// from the vocabulary of jails because everything it imports is part of a
// program that is started once per command and must start at once.
package child
