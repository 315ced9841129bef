package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
)

// status is where --status-fd sends the events, one JSON line each. A nil
// *status sends nothing.
type status struct{ f *os.File }

// openStatus takes a descriptor that our caller opened for writing. A number
// that was not may by now be one of the Go runtime's own: an event queue, which
// has no file type, or a file that it reads.
func openStatus(fd int) (*status, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	flags, ferr := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || ferr != nil || st.Mode&unix.S_IFMT == 0 || flags&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, fmt.Errorf("--status-fd %d: is not open for writing: %d>FILE opens it in a shell", fd, fd)
	}
	return &status{os.NewFile(uintptr(fd), "status")}, nil
}

// write sends an event. A reader that has gone does not end the command.
func (s *status) write(ev api.Event) {
	if s == nil {
		return
	}
	if b, err := json.Marshal(ev); err == nil {
		s.f.Write(append(b, '\n'))
	}
}

// failed sends an error of ours as the exit that the daemon did not send, and
// returns what is left to report.
func (s *status) failed(err error) error {
	var said exitError
	if s == nil || err == nil || errors.As(err, &said) {
		return err
	}
	reason, fix, positions := explain(err)
	for _, p := range positions {
		reason += "\n" + position(p)
	}
	code := exitFailed
	var usage usageError
	if errors.As(err, &usage) {
		code = exitUsage
	}
	s.write(api.Event{Exit: &api.Exit{Code: code, Reason: strings.ToValidUTF8(reason, "?"), Fix: fix}})
	return exitError(code)
}
