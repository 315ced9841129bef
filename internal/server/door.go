package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/peercred"
)

// spareConns is how many connections a uid may have beside those of its jails.
const spareConns = 192

// door is the listener's half of every ceiling: it asks the kernel who connects
// and counts, so that one uid cannot take the descriptors that all share.
type door struct {
	net.Listener
	most func() int // connections of one uid
	mu   sync.Mutex
	open map[int64]int // by uid; unknown for peers of whom nothing is known
}

// unknown is the place of all peers that the kernel does not name.
const unknown = -1

func newDoor(l net.Listener, most func() int) *door {
	return &door{Listener: l, most: most, open: map[int64]int{}}
}

// peerConn is a connection and who is at its other end. Closing it gives back
// its place and what is held of the peer.
type peerConn struct {
	*net.UnixConn
	caller peercred.Caller
	err    error // why there is no caller
	leave  func()
}

// Accept returns a *peerConn. A uid with too many is told and hung up on.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uc, ok := c.(*net.UnixConn)
		if !ok {
			c.Close()
			return nil, errors.New("accept: not a Unix socket")
		}
		p := &peerConn{UnixConn: uc}
		who := int64(unknown)
		if p.caller, p.err = peercred.From(uc); p.err == nil {
			who = int64(p.caller.UID())
		}
		if !d.enter(who) {
			refuseConn(uc, d.most())
			p.caller.Close()
			uc.Close()
			continue
		}
		p.leave = sync.OnceFunc(func() { d.exit(who) })
		return p, nil
	}
}

// Close closes the connection. It may be called again.
func (p *peerConn) Close() error {
	err := p.UnixConn.Close()
	p.caller.Close()
	p.leave()
	return err
}

// enter counts a connection, or says that there are too many. Root's are not
// bounded: it can end the daemon anyway.
func (d *door) enter(who int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if who != 0 && d.open[who] >= d.most() {
		return false
	}
	d.open[who]++
	return true
}

func (d *door) exit(who int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[who]--; d.open[who] == 0 {
		delete(d.open, who)
	}
}

// refuseConn answers before anything was read. What is written fits into an empty
// socket, so that it never waits.
func refuseConn(c net.Conn, most int) {
	body, err := json.Marshal(map[string]*api.Error{"error": api.Refuse(http.StatusTooManyRequests, "too_many_connections",
		"you have %d connections to omnijaild, which is the limit", most)})
	if err != nil {
		return
	}
	fmt.Fprintf(c, "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}
