package mitm

import "sync"

// A piece of a body has room around it for a chunk's head and tail, so that a chunk
// leaves in one write.
const (
	chunkRoom = 8 // "20400\r\n" and one to spare
	tailRoom  = 2
)

// scrubRoom is for what waited of the piece before, which comes along with the next:
// without it the last bytes of what was read together would wait in their turn, and
// leave in a write of their own.
const scrubRoom = 1 << 10

// room is what a reply is copied with. It belongs to one at a time.
type room struct {
	piece  []byte // with chunkRoom and tailRoom
	sealed []byte // what crypto/tls makes of a piece; made when first needed
	wide   bool
}

func newRoom(size int) *room {
	return &room{piece: make([]byte, chunkRoom+size+scrubRoom+tailRoom)}
}

var rooms = sync.Pool{New: func() any { return newRoom(streamBuffer) }}

// data is where the next piece is read.
func (m *room) data() []byte { return m.piece[chunkRoom : len(m.piece)-tailRoom] }

// widened is a larger room, when there is one, in place of m.
func (m *room) widened() *room {
	if m.wide {
		return m
	}
	w := wideRooms.take()
	if w == nil {
		return m
	}
	m.put()
	return w.(*room)
}

func (m *room) put() {
	if m.wide {
		wideRooms.put(m)
		return
	}
	rooms.Put(m)
}

// Large bodies have wider buffers than all others: a megabyte then takes fewer calls
// of the kernel, and wakes fewer processes.
var (
	wideRooms = newLoans(func() any {
		m := newRoom(2 * streamBuffer)
		m.wide = true
		return m
	})
	wideReads = newLoans(func() any { b := make([]byte, 4*aheadBuffer); return &b })
)

// maxWide is how many bodies have them at once, whatever jails ask for.
const maxWide = 8

// loans lends no more than maxWide of something.
type loans struct {
	out  chan struct{}
	pool sync.Pool
}

func newLoans(fresh func() any) *loans {
	return &loans{out: make(chan struct{}, maxWide), pool: sync.Pool{New: fresh}}
}

// take returns nil when all are lent.
func (l *loans) take() any {
	select {
	case l.out <- struct{}{}:
		return l.pool.Get()
	default:
		return nil
	}
}

// put takes back what nobody uses any more.
func (l *loans) put(v any) {
	l.pool.Put(v)
	<-l.out
}
