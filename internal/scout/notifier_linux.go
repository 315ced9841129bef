package scout

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// notifier is told by the kernel of every new name in the directories of surveys.
type notifier struct {
	fd int // inotify; -1 where nothing is kept

	mu     sync.Mutex
	places map[int32]*surveyed // by the number of their watch
	stale  []*surveyed         // to be listed again
	always map[*surveyed]bool  // to be listed each time
	doubt  bool                // something was missed, or may have been
}

// newNames is what makes a name. Of names that go nothing is told, or a command that
// removes many would fill the queue: what is known is looked up before it is
// protected, and what more is to be seen in a directory for the lack of a name is
// seen to in survey.again.
const newNames = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_ONLYDIR

func newNotifier(kept bool) *notifier {
	n := &notifier{fd: -1, places: map[int32]*surveyed{}, always: map[*surveyed]bool{}}
	if !kept {
		return n
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		n.doubt = true
		return n
	}
	n.fd = fd
	return n
}

func (n *notifier) close() {
	if n.fd >= 0 {
		unix.Close(n.fd)
	}
	n.fd = -1
}

// add puts the directory dir under watch and returns the number of that, -1 for
// none.
func (n *notifier) add(dir int) int32 {
	if n.fd < 0 {
		return -1
	}
	wd, err := unix.InotifyAddWatch(n.fd, "/proc/self/fd/"+strconv.Itoa(dir), newNames)
	if err != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.doubt = true
		return -1
	}
	return int32(wd)
}

// drain takes in all that has happened until now. The kernel queues an event before
// the call that made the name returns, so that nothing that is finished is missing.
func (n *notifier) drain() {
	buf := make([]byte, eventsBuffer)
	for n.fd >= 0 && !n.doubt {
		size, err := unix.Read(n.fd, buf)
		switch err {
		case nil:
			eachEvent(buf[:size], func(wd int32, mask uint32, name string) error {
				n.hear(wd, mask, name)
				return nil
			})
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			n.doubt = true
		}
	}
}

const eventsBuffer = 64 << 10

// eachEvent calls each for every event in what was read of an inotify.
func eachEvent(b []byte, each func(wd int32, mask uint32, name string) error) error {
	for len(b) >= unix.SizeofInotifyEvent {
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:size], []byte{0})
		if err := each(int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), string(name)); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// hear takes in one event.
func (n *notifier) hear(wd int32, mask uint32, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if mask&(unix.IN_Q_OVERFLOW|unix.IN_UNMOUNT) != 0 {
		n.doubt = true
	}
	p := n.places[wd]
	switch {
	case p == nil:
	case mask&unix.IN_IGNORED != 0 && p.parent == nil:
		n.doubt = true
	case mask&unix.IN_IGNORED != 0:
		n.list(p.parent)
		n.drop(p)
	case name != "":
		if mask&unix.IN_ISDIR != 0 { // another one than before
			n.drop(p.below[name])
		}
		n.list(p)
	}
}

// list has a place listed again.
func (n *notifier) list(p *surveyed) {
	if !p.stale && !p.gone {
		p.stale = true
		n.stale = append(n.stale, p)
	}
}

// drop takes p with all below it out of what is known. The caller holds mu.
func (n *notifier) drop(p *surveyed) {
	if p == nil || p.gone {
		return
	}
	if up := p.parent; up != nil && up.below[p.name] == p {
		delete(up.below, p.name)
	}
	p.gone = true
	delete(n.always, p)
	if n.places[p.wd] == p {
		delete(n.places, p.wd)
	}
	for _, below := range p.below {
		n.drop(below)
	}
}
