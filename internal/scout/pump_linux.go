package scout

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

const (
	// ringSize is how much of a command's output is kept, in bytes.
	ringSize = 256 << 10
	// screenful is what an attached client is shown of what was before.
	screenful = 16 << 10
	// maxStreams is how many clients are served at a time; the oldest makes way.
	maxStreams = 16
)

// pump keeps the output of a command that has no client and serves those that
// come. It runs as the caller, so that root never sees a byte of it, and
// interprets none.
type pump struct {
	source *os.File
	tty    bool
	ring   *ring

	mu      sync.Mutex
	streams []*stream
}

// stream is one client's.
type stream struct {
	f    *os.File
	from *ringReader
}

// servePump keeps until the daemon closes the connection.
func servePump(conn *seqpacket.Conn, req child.PumpRequest, files []*os.File, err error) error {
	if err == nil && len(files) != 1 {
		err = errors.New("a pump is for one stream")
	}
	if err == nil {
		err = narrow()
	}
	if err != nil {
		return conn.Send(child.PumpReply{Err: refusal(err)})
	}
	p := &pump{source: files[0], tty: req.TTY, ring: newRing(ringSize)}
	go func() {
		io.Copy(p.ring, p.source) // a terminal ends in EIO
		p.ring.close()
	}()
	if err := conn.Send(child.PumpReply{}); err != nil {
		return err
	}
	for {
		var ask child.PumpAsk
		streams, err := conn.Recv(&ask)
		if err != nil {
			return err
		}
		for _, f := range streams {
			p.serve(f, ask)
		}
	}
}

// serve copies to a stream, and from it where it is attached to a terminal.
func (p *pump) serve(f *os.File, ask child.PumpAsk) {
	back := ringSize
	if ask.Attach {
		back = screenful
	}
	s := &stream{f, p.ring.from(back, ask.Attach || ask.Follow)}
	p.add(s)
	go func() {
		io.Copy(f, s.from)
		p.drop(s)
	}()
	go func() {
		if ask.Attach && p.tty {
			io.Copy(p.source, f)
		} else {
			io.Copy(io.Discard, f) // until the client is gone
		}
		p.drop(s)
	}()
}

func (p *pump) add(s *stream) {
	p.mu.Lock()
	p.streams = append(p.streams, s)
	var oldest *stream
	if len(p.streams) > maxStreams {
		oldest = p.streams[0]
	}
	p.mu.Unlock()
	if oldest != nil {
		p.drop(oldest)
	}
}

// drop ends a stream; both of its copies do so.
func (p *pump) drop(s *stream) {
	p.mu.Lock()
	at := slices.Index(p.streams, s)
	if at >= 0 {
		p.streams = slices.Delete(p.streams, at, at+1)
	}
	p.mu.Unlock()
	if at < 0 {
		return
	}
	s.from.close()
	if conn, err := s.f.SyscallConn(); err == nil { // closing alone would not wake a copy that waits
		conn.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	}
	s.f.Close()
}
