package egressd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// GCPercent is how much an egress process may allocate before it collects, in hundredths
// of what it holds. That is little, and the default would have it collect fifty times a
// second under load, for a tenth of its processor time. Its memory limit comes first.
const GCPercent = 300

// Run is the egress process. sock is its end of the daemon's socket pair. It
// returns nil when the daemon has closed the other end, and an error when the
// process could not be hardened or the daemon sent what it never sends; the
// caller exits at once in both cases, which is what ends the jails' networks and
// forgets their secrets.
func Run(sock *os.File) error {
	if err := harden(); err != nil {
		return err
	}
	debug.SetGCPercent(GCPercent)
	conn, err := wire.NewConn(sock)
	if err != nil {
		return err
	}
	if err := filterCalls(); err != nil {
		return err
	}
	return serve(conn)
}

// serve reads the daemon's messages until the socket ends.
func serve(conn *wire.Conn) error {
	p := newProcess(conn)
	defer p.close()
	for {
		f, err := conn.ReceiveFiles()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen to the daemon: %w", err)
		}
		m, err := wire.DecodeDown(f)
		if err != nil {
			return err
		}
		if err := p.handle(m); err != nil {
			return err
		}
	}
}
