package mitm

import "net"

// ahead reads more than it is asked for, so that a large body takes one call of the
// kernel for several records of TLS.
type ahead struct {
	net.Conn
	buf []byte
	has []byte // of buf, read and not asked for yet
	now bool   // nothing is waited for
}

const aheadBuffer = 64 << 10

// notNow is the error of a read that would have to wait. To crypto/tls it is a
// deadline that has passed, after which a read can be tried again.
type notNow struct{}

func (notNow) Error() string   { return "nothing is there yet" }
func (notNow) Timeout() bool   { return true }
func (notNow) Temporary() bool { return true }

func (a *ahead) Read(p []byte) (int, error) {
	if len(a.has) == 0 {
		if a.now {
			return 0, notNow{}
		}
		if a.buf == nil {
			a.buf = make([]byte, aheadBuffer)
		}
		n, err := a.Conn.Read(a.buf)
		if a.has = a.buf[:n]; n == 0 {
			return 0, err
		}
	}
	n := copy(p, a.has)
	a.has = a.has[n:]
	return n, nil
}

// fill reads from over, which lies on a, until p is full or a has nothing more: what
// has come is passed on together, and never waits for what has not.
func (a *ahead) fill(over net.Conn, p []byte) (n int, err error) {
	n, err = over.Read(p)
	a.now = true
	defer func() { a.now = false }()
	for err == nil && n < len(p) && len(a.has) > 0 {
		var more int
		more, err = over.Read(p[n:])
		n += more
	}
	if err == (notNow{}) {
		err = nil
	}
	return n, err
}
