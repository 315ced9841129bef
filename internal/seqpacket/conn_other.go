//go:build !linux

package seqpacket
