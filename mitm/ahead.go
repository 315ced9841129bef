package mitm

import "net"

// ahead reads more than it is asked for, so that a large body takes one call of the
// kernel for several records of TLS.
type ahead struct {
	net.Conn
	buf  []byte
	wide *[]byte // in its place, for a large body; nil for none
	has  []byte  // read and not asked for yet
	full bool    // the latest read took all that there was room for
	now  bool    // nothing is waited for
}

// Room for four full records of TLS, so that a large body is read along their borders.
const aheadBuffer = 4 * (tlsRecord + 256)

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
		buf := a.room()
		n, err := a.Conn.Read(buf)
		a.full = n == len(buf)
		if a.has = buf[:n]; n == 0 {
			return 0, err
		}
	}
	n := copy(p, a.has)
	a.has = a.has[n:]
	return n, nil
}

func (a *ahead) room() []byte {
	if a.wide != nil {
		return *a.wide
	}
	if a.buf == nil {
		a.buf = make([]byte, aheadBuffer)
	}
	return a.buf
}

// widen has reads take more at once from now on, where the latest was full and there
// is a wider buffer. Who calls it calls narrow at the end.
func (a *ahead) widen() {
	if !a.full || a.wide != nil {
		return
	}
	if a.wide, _ = wideReads.take().(*[]byte); a.wide != nil {
		a.has = (*a.wide)[:copy(*a.wide, a.has)]
	}
}

// narrow gives a wider buffer back. It reports whether all that was read had been
// asked for: what was not may be lost.
func (a *ahead) narrow() (clean bool) {
	clean = len(a.has) == 0
	if a.wide != nil {
		wideReads.put(a.wide)
		a.wide, a.has = nil, nil
	}
	return clean
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
