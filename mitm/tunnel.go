package mitm

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// duplex is a connection whose directions can end one by one.
type duplex interface {
	net.Conn
	CloseWrite() error
}

// tunnel carries bytes between a jail and an upstream. It is never cut for being
// idle while both sides are there: a WebSocket may be silent for hours.
type tunnel struct {
	jail, up duplex
	fromJail io.Reader   // the jail's connection, with what of it was read already
	fromUp   io.Reader   // likewise; nil: up itself
	heed     func(n int) // waits before what came is passed on
	half     atomic.Bool // one side has ended its direction
}

const tunnelBuffer = 16 << 10

// carry copies both ways until both directions have ended, and counts.
func (t *tunnel) carry() (out, in uint64) {
	var both sync.WaitGroup
	both.Go(func() {
		defer t.recover()
		out = t.copy(t.up, t.jail, t.fromJail)
	})
	if t.fromUp == nil {
		t.fromUp = t.up
	}
	func() {
		defer t.recover()
		in = t.copy(t.jail, t.up, t.fromUp)
	}()
	both.Wait()
	return out, in
}

// copy carries one direction and ends it at the other side. When it fails, neither
// connection is of use any more.
func (t *tunnel) copy(to, from duplex, r io.Reader) (n uint64) {
	buf := make([]byte, tunnelBuffer)
	for {
		if t.half.Load() {
			from.SetReadDeadline(time.Now().Add(idleTimeout))
		}
		m, err := r.Read(buf)
		n += uint64(m)
		if m > 0 {
			t.heed(m)
			if _, err := to.Write(buf[:m]); err != nil {
				t.cut()
				return n
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			t.end(to)
			return n
		case err != nil:
			t.cut()
			return n
		}
	}
}

// end says towards one side that the other has nothing more to send. From then on
// that side has to go on sending, or the connection is left to nobody.
func (t *tunnel) end(to duplex) {
	t.half.Store(true)
	to.SetReadDeadline(time.Now().Add(idleTimeout))
	if to.CloseWrite() != nil {
		t.cut()
	}
}

func (t *tunnel) cut() {
	t.jail.Close()
	t.up.Close()
}

func (t *tunnel) recover() {
	if recover() != nil {
		t.cut()
	}
}
