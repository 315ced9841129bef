package main

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// heldBack reports whether the keys hold one that stops a command (Ctrl-Z), and the
// kernel will drop it: nobody could continue the leader of a session.
func heldBack(master *os.File, keys []byte) bool {
	st, err := unix.IoctlGetTermios(int(master.Fd()), unix.TCGETS)
	if err != nil || st.Lflag&unix.ISIG == 0 || st.Lflag&unix.ICANON == 0 || bytes.IndexByte(keys, st.Cc[unix.VSUSP]) < 0 {
		return false
	}
	front, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return false
	}
	leader, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGSID)
	return err == nil && front == leader
}
