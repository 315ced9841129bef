package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// SendTimeout bounds a send. A peer that does not read for that long is as good
// as dead, and root must not wait for one.
const SendTimeout = 10 * time.Second

// Conn is one end of the pair. It may be sent to from any goroutine and received
// from by one.
type Conn struct {
	c   *net.UnixConn
	raw syscall.RawConn
	buf []byte // one byte more than a frame, so that a longer packet is seen

	mu     sync.Mutex
	closed bool
}

// NewConn takes over f, one end of Pair.
func NewConn(f *os.File) (*Conn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("egress socket: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("egress socket: it is a %s socket, not unix", c.LocalAddr().Network())
	}
	raw, err := u.SyscallConn()
	if err != nil {
		u.Close()
		return nil, fmt.Errorf("egress socket: %w", err)
	}
	return &Conn{c: u, raw: raw, buf: make([]byte, HeaderSize+MaxBody+1)}, nil
}

// Send writes one frame. The frame's files are lent: the caller keeps them.
func (c *Conn) Send(f Frame) error {
	b, err := f.encode()
	if err != nil {
		return err
	}
	if len(f.Files) > MaxFiles {
		return fmt.Errorf("frame of kind %d has %d descriptors, more than %d", f.Kind, len(f.Files), MaxFiles)
	}
	oob, err := rights(f.Files)
	if err != nil {
		return err
	}
	if len(f.Files) == 0 { // there is room nearly always, and no deadline to be set then
		if sent, err := c.sendNow(b); sent || err != nil {
			return err
		}
	}
	if err := c.c.SetWriteDeadline(time.Now().Add(SendTimeout)); err != nil {
		return fmt.Errorf("send to egress socket: %w", err)
	}
	_, _, err = c.c.WriteMsgUnix(b, oob, nil)
	runtime.KeepAlive(f.Files)
	if err != nil {
		return fmt.Errorf("send to egress socket: %w", err)
	}
	return nil
}

func rights(files []*os.File) ([]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	fds := make([]int, len(files))
	for i, f := range files {
		if f == nil {
			return nil, fmt.Errorf("send to egress socket: descriptor %d is missing", i)
		}
		raw, err := f.SyscallConn() // Fd would make a shared description blocking
		if err != nil {
			return nil, fmt.Errorf("send to egress socket: descriptor %d: %w", i, err)
		}
		if err := raw.Control(func(fd uintptr) { fds[i] = int(fd) }); err != nil {
			return nil, fmt.Errorf("send to egress socket: descriptor %d: %w", i, err)
		}
	}
	return syscall.UnixRights(fds...), nil
}

// ReceiveFiles reads one frame and its descriptors. It is the egress process's
// side.
func (c *Conn) ReceiveFiles() (Frame, error) {
	oob := make([]byte, syscall.CmsgSpace(4*MaxFiles))
	n, oobn, flags, _, err := c.c.ReadMsgUnix(c.buf, oob)
	if errors.Is(err, io.EOF) {
		return Frame{}, io.EOF
	}
	if err != nil {
		return Frame{}, fmt.Errorf("receive from egress socket: %w", err)
	}
	files, err := parseRights(oob[:oobn])
	if err != nil {
		return Frame{}, err
	}
	f, err := parseFrame(c.buf[:n])
	switch {
	case flags&syscall.MSG_CTRUNC != 0:
		err = fmt.Errorf("%w: a descriptor came that is not taken", ErrProtocol)
	case flags&syscall.MSG_TRUNC != 0:
		err = fmt.Errorf("%w: packet is longer than a frame", ErrProtocol)
	}
	f.Files = files
	if err != nil {
		f.Close()
		return Frame{}, err
	}
	return f, nil
}

func parseRights(oob []byte) ([]*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("%w: control message: %w", ErrProtocol, err)
	}
	var files []*os.File
	for i := range msgs {
		fds, err := syscall.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // credentials or the like: nothing that must be closed
		}
		for _, fd := range fds {
			syscall.SetNonblock(fd, true) // so that reading a pipe can have a deadline
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

// Close ends the conversation; the peer reads io.EOF. It may be called again.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.c.Close()
}
