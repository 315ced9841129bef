package scout

import (
	"errors"
	"os"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/observe"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// serveObserve is told what a jail calls until the jail's last process is gone.
func serveObserve(conn *seqpacket.Conn, req child.ObserveRequest, files []*os.File, err error) error {
	switch {
	case err != nil:
		return err
	case len(files) != 1:
		return errors.New("an observer is given one socket")
	}
	if err := boundMemory(); err != nil {
		return err
	}
	return observe.Serve(conn, files[0], req)
}
