package seqpacket

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ParseFiles returns the descriptors in a control buffer. Any other control
// message is an error; the descriptors are closed then.
func ParseFiles(oob []byte) (files []*os.File, err error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	for i := range msgs {
		fds, e := unix.ParseUnixRights(&msgs[i])
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
		if e != nil {
			err = fmt.Errorf("control message of an unexpected kind: %w", e)
		}
	}
	if err != nil {
		CloseAll(files)
		return nil, err
	}
	return files, nil
}

// CloseAll closes files; nil ones are skipped.
func CloseAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
