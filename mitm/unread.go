package mitm

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"github.com/omnijail/omnijail/internal/egress"
)

// maxHello bounds what is read to find the name in a ClientHello, in bytes.
const maxHello = 64 << 10

var errHelloSeen = errors.New("the ClientHello was read")

// passUnread carries a TLS connection as it is, where rules let that be and the
// client asks for a by name. It reports whether it did. Otherwise conn is where it
// was, and is answered like any other.
func (p *Proxy) passUnread(ctx context.Context, conn *replayed, a egress.Authority) bool {
	g := p.now()
	v := judgeUnread(g, a)
	if !v.Allow {
		return false
	}
	conn.SetReadDeadline(time.Now().Add(handshakeTimeout))
	name, ok := conn.helloName()
	conn.SetReadDeadline(time.Time{})
	// An address is asked for without a name; all else has to say whom it means.
	if named, err := egress.AuthorityFrom(name, a.Port()); !ok || (err != nil || named != a) && !(name == "" && isAddress(a)) {
		return false
	}
	p.splice(ctx, conn, &carried{g: g, to: a, verdict: v, judge: judgeUnread})
	return true
}

// judgeUnread lets a connection to a be passed on where a rule does not ask to read
// it and no credential is bound to the host, or was.
func judgeUnread(g *generation, a egress.Authority) egress.Verdict {
	if g.Table.HasHost(a.Host()) || g.Table.Searched(a.Host()) {
		return egress.Verdict{}
	}
	return g.Rules.PassesUnread(a)
}

// helloName returns the server name of the ClientHello at the beginning of c, which
// stays to be read.
func (c *replayed) helloName() (name string, ok bool) {
	var read bytes.Buffer
	peek := &hello{in: io.TeeReader(io.LimitReader(c, maxHello), &read)}
	err := tls.Server(peek, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		name = h.ServerName
		return nil, errHelloSeen
	}}).Handshake()
	c.prefix = append(read.Bytes(), c.prefix...)
	return name, errors.Is(err, errHelloSeen)
}

// hello is a connection of which the first message alone is read, and to which
// nothing is written.
type hello struct {
	net.Conn // nil: whatever else is asked of it is a mistake of ours
	in       io.Reader
}

func (h *hello) Read(b []byte) (int, error)  { return h.in.Read(b) }
func (h *hello) Write(b []byte) (int, error) { return len(b), nil }
