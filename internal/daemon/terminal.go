package daemon

import (
	"encoding/json"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/pty"
)

// sendFile sends one event and a descriptor with it. What was queued before has
// been flushed, so the client sees them in order.
func (e *events) sendFile(conn *net.UnixConn, ev api.Event, f *os.File) {
	line, err := json.Marshal(ev)
	if err != nil {
		return
	}
	raw, err := f.SyscallConn() // Fd would make a shared description blocking
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		conn.SetWriteDeadline(time.Now().Add(eventTimeout))
		conn.WriteMsgUnix(append(line, '\n'), unix.UnixRights(int(fd)), nil)
	})
}

// resize passes a size of the client's terminal on.
func (x *execution) resize(s api.Size) {
	pty.Resize(x.master, s.Rows, s.Cols)
}
