package wire

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sys/unix"
)

// Receive reads one frame and takes no descriptor: one that is sent is closed by
// the kernel, and the attempt is an error. It is the daemon's side. io.EOF says
// that the peer is gone.
func (c *Conn) Receive() (f Frame, err error) {
	err = c.ReceiveEach(1, func(one Frame) error {
		f = one
		f.Body = slices.Clone(one.Body)
		return nil
	})
	return f, err
}

// ReceiveEach is Receive for the frame that it waits for and those that have come by
// then, limit at most. A frame's body is good until take returns; an error of take is
// returned at once.
func (c *Conn) ReceiveEach(limit int, take func(Frame) error) error {
	for i := range limit {
		var f Frame
		var failed error
		// What take does is done out here: it may close the connection, which waits
		// for the end of a read.
		err := c.raw.Read(func(fd uintptr) bool {
			f, failed = receiveNow(int(fd), c.buf)
			return failed != unix.EAGAIN || i > 0
		})
		switch {
		case err != nil:
			return fmt.Errorf("receive from egress socket: %w", err)
		case failed == unix.EAGAIN:
			return nil
		case failed != nil:
			return failed
		}
		if err := take(f); err != nil {
			return err
		}
	}
	return nil
}

// receiveNow reads a frame that is there, without its descriptors. Its body lies in
// buf.
func receiveNow(fd int, buf []byte) (Frame, error) {
	n, _, flags, _, err := unix.Recvmsg(fd, buf, nil, unix.MSG_DONTWAIT)
	for err == unix.EINTR {
		n, _, flags, _, err = unix.Recvmsg(fd, buf, nil, unix.MSG_DONTWAIT)
	}
	switch {
	case err != nil:
		return Frame{}, err
	case n == 0:
		return Frame{}, io.EOF
	case flags&unix.MSG_CTRUNC != 0:
		return Frame{}, fmt.Errorf("%w: a descriptor came that is not taken", ErrProtocol)
	case flags&unix.MSG_TRUNC != 0:
		return Frame{}, fmt.Errorf("%w: packet is longer than a frame", ErrProtocol)
	}
	return splitFrame(buf[:n])
}

// TrySend is SendMessage for a message without files that need not be waited for:
// it reports false when the peer has to read first.
func (c *Conn) TrySend(m Message) (sent bool, err error) {
	f, err := m.encode()
	if err != nil {
		return false, err
	}
	b, err := f.encode()
	if err != nil {
		return false, err
	}
	return c.sendNow(b)
}

func (c *Conn) sendNow(b []byte) (sent bool, err error) {
	var failed error
	err = c.raw.Control(func(fd uintptr) {
		failed = unix.EINTR
		for failed == unix.EINTR {
			_, failed = unix.SendmsgN(int(fd), b, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		}
	})
	switch {
	case errors.Is(failed, unix.EAGAIN):
		return false, nil
	case err != nil || failed != nil:
		return false, fmt.Errorf("send to egress socket: %w", errors.Join(err, failed))
	}
	return true, nil
}
