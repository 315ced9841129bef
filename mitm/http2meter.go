package mitm

import (
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// The types of frames and the flags that the meter tells apart (RFC 9113 section 6).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagEndHeaders = 0x4

	prefaceLength = 24 // of the text that a client begins with
	protoHTTP2    = "h2"
)

// What a client may spend on frames that ask for work and carry nothing. Frames
// that answer data, such as window updates and a ping per delivery, are paid for
// by that data.
const (
	controlBurst  = 1000 // frames at once, then controlRate
	controlRate   = 100  // per second
	controlCredit = 3    // that a frame of data from us earns
	creditBytes   = 1024 // of it earn one more: some clients open their windows every 4 KiB
	maxCredit     = 1 << 18
	resetBurst    = 400 // streams given up at once, then resetRate
	resetRate     = 50  // per second
)

// meter counts the frames of a connection as they pass, and ends it when they are
// a flood: of resets, settings, pings, empty frames, or a head without an end.
type meter struct {
	net.Conn                     // and no more of the *tls.Conn, or it is taken for one that is still encrypted
	flooded  func()              // called once
	heed     func(time.Duration) // waits before work of so long
	work     time.Duration       // that what was read asks for

	in, out frames
	control *bucket
	earned  atomic.Int64 // control frames that data has paid for
	resets  *bucket
	over    atomic.Bool
	block   time.Time // when the head that is being read began
}

func newMeter(conn net.Conn, flooded func(), heed func(time.Duration)) *meter {
	return &meter{
		Conn: conn, flooded: flooded, heed: heed,
		in:      frames{skip: prefaceLength},
		control: newBucket(controlBurst, controlRate),
		resets:  newBucket(resetBurst, resetRate),
	}
}

var errFlood = errors.New("a flood of frames")

// Read reads for the implementation, which ends the connection on an error.
func (m *meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.in.scan(b[:n], m.received)
	if m.over.Load() {
		return 0, errFlood
	}
	if m.work > 0 {
		m.heed(m.work)
		m.work = 0
	}
	return n, err
}

func (m *meter) Write(b []byte) (int, error) {
	m.out.scan(b, m.sent)
	return m.Conn.Write(b)
}

// received charges one frame of the client's.
func (m *meter) received(f frame) {
	m.work += frameWork
	switch f.kind {
	case frameData:
		if f.length > 0 {
			m.earn(1)
		} else if f.flags&flagEndStream == 0 {
			m.chargeControl()
		}
	case frameHeaders:
		m.work += streamWork
		m.head(f.flags&flagEndHeaders != 0, true)
	case frameContinuation:
		m.chargeControl()
		m.head(f.flags&flagEndHeaders != 0, false)
	case frameReset:
		m.charge(m.resets)
	default:
		m.chargeControl()
	}
}

// sent books one frame of ours. A client can also make us give a stream up.
func (m *meter) sent(f frame) {
	switch {
	case f.kind == frameData && f.length > 0:
		m.earn(controlCredit + int64(f.length/creditBytes))
	case f.kind == frameReset:
		m.charge(m.resets)
	}
}

// head gives a head that comes in parts a time to be complete.
func (m *meter) head(ends, begins bool) {
	switch {
	case ends && !m.block.IsZero():
		m.block = time.Time{}
		m.Conn.SetReadDeadline(time.Time{})
	case begins && !ends:
		m.block = time.Now()
		m.Conn.SetReadDeadline(m.block.Add(headerTimeout))
	}
}

// earn keeps what data pays for until it is spent: a client may take a whole
// window before it says so.
func (m *meter) earn(n int64) {
	if m.earned.Load() < maxCredit {
		m.earned.Add(n)
	}
}

func (m *meter) chargeControl() {
	if m.earned.Load() > 0 {
		m.earned.Add(-1)
		return
	}
	m.charge(m.control)
}

func (m *meter) charge(b *bucket) {
	if !b.take() && !m.over.Swap(true) {
		m.flooded()
	}
}

// frame is the head of one frame of HTTP/2.
type frame struct {
	length uint32
	kind   byte
	flags  byte
}

const frameHead = 9

// frames finds the frames in one direction of a connection, whatever pieces it
// comes in.
type frames struct {
	skip uint32 // bytes until the next frame's head
	head [frameHead]byte
	n    int // bytes of head that are there
}

func (s *frames) scan(b []byte, each func(frame)) {
	for len(b) > 0 {
		if s.skip > 0 {
			n := min(len(b), int(s.skip))
			s.skip -= uint32(n)
			b = b[n:]
			continue
		}
		n := copy(s.head[s.n:], b)
		s.n += n
		b = b[n:]
		if s.n < frameHead {
			return
		}
		f := frame{
			length: binary.BigEndian.Uint32(s.head[:4]) >> 8,
			kind:   s.head[3],
			flags:  s.head[4],
		}
		s.n, s.skip = 0, f.length
		each(f)
	}
}
