package observe

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxFrame = 256 // bytes; the filter lets less through
	// A window's frames are read, the others of it are the kernel's to keep or drop.
	windowFrames = 512
	window       = time.Second
)

// Serve tells of each attempt that a frame received on socket shows, until ctx ends
// or a read fails. What had been received by then is told before it returns. tell
// must not block.
func Serve(ctx context.Context, socket *os.File, tell func(Attempt)) {
	defer context.AfterFunc(ctx, func() { socket.SetReadDeadline(time.Unix(1, 0)) })()
	d, b := new(decoder), make([]byte, maxFrame)
	one := func(n int) {
		if a, ok := d.attempt(b[:n]); ok {
			tell(a)
		}
	}
	for budget := newBudget(); ; budget.spend(ctx) {
		n, err := socket.Read(b)
		if err != nil {
			break
		}
		one(n)
	}
	rest(socket, b, one)
}

// rest reads what has been received and was not read, within one window's number.
func rest(socket *os.File, b []byte, one func(n int)) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) { // it fails for a socket that is closed, which has nothing left
		for range windowFrames {
			n, err := unix.Read(int(fd), b)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				return
			}
			one(n)
		}
	})
}

// budget bounds how many frames are read in a window.
type budget struct {
	since time.Time
	left  int
}

func newBudget() budget { return budget{time.Now(), windowFrames} }

// spend takes one frame, and waits for the next window where there is none left.
func (b *budget) spend(ctx context.Context) {
	if b.left--; b.left > 0 {
		return
	}
	select {
	case <-time.After(window - time.Since(b.since)):
	case <-ctx.Done():
	}
	*b = newBudget()
}
