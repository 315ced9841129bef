package mitm

import (
	"context"
	"net"
	"runtime"
)

// turns are how many handshakes of one jail are worked on at once. What a jail opens
// beyond that waits for its own: what another jail of the same process asks for does
// not come after hundreds of key exchanges.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// paced is a connection during its handshake. What came is worked on in its turn; no
// turn is held while the client is waited for, which may never answer.
type paced struct {
	net.Conn
	ctx   context.Context
	turns turns
	has   bool
}

// Read waits for what comes and then for a turn. It is called by one goroutine.
func (c *paced) Read(b []byte) (int, error) {
	c.over()
	n, err := c.Conn.Read(b)
	if err != nil {
		return n, err
	}
	select {
	case c.turns <- struct{}{}:
		c.has = true
		return n, nil
	case <-c.ctx.Done():
		return 0, c.ctx.Err()
	}
}

// over ends a turn that it has.
func (c *paced) over() {
	if c.has {
		c.has = false
		<-c.turns
	}
}
