// Package cage starts an egress process. It is the daemon's side of
// internal/confine, which runs in the child, and imports nothing of what the
// egress process is made of.
package cage
