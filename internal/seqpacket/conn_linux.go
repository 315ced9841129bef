package seqpacket

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of a message.
const (
	MaxBytes = 4 << 20 // of JSON
	MaxFiles = 8192    // descriptors

	chunkBytes = 48 << 10
	chunkFiles = 64

	last, more = 0, 1
)

// Conn is one end. One goroutine may send while another receives; SetDeadline and
// Close are for any.
type Conn struct{ f *os.File }

// New wraps an end that was inherited. Conn owns f from now on.
func New(f *os.File) *Conn { return &Conn{f} }

// Pair returns a connected pair: our end, which honours deadlines, and the
// blocking end to pass to a child.
func Pair() (ours *Conn, theirs *os.File, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	theirs = os.NewFile(uintptr(p[1]), "seqpacket")
	if err := unix.SetNonblock(p[0], true); err != nil {
		unix.Close(p[0])
		theirs.Close()
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return New(os.NewFile(uintptr(p[0]), "seqpacket")), theirs, nil
}

// SetDeadline bounds Send and Recv of an end made by Pair.
func (c *Conn) SetDeadline(t time.Time) error { return c.f.SetDeadline(t) }

// Close closes the end.
func (c *Conn) Close() error { return c.f.Close() }

// Send sends v with files, which stay the sender's.
func (c *Conn) Send(v any, files ...*os.File) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if len(b) > MaxBytes || len(files) > MaxFiles {
		return fmt.Errorf("message of %d bytes and %d descriptors is too large", len(b), len(files))
	}
	for {
		n, nf := min(len(b), chunkBytes), min(len(files), chunkFiles)
		flag := byte(more)
		if n == len(b) && nf == len(files) {
			flag = last
		}
		if err := c.sendPacket(flag, b[:n], files[:nf]); err != nil {
			return fmt.Errorf("send message: %w", err)
		}
		if b, files = b[n:], files[nf:]; flag == last {
			return nil
		}
	}
}

func (c *Conn) sendPacket(flag byte, b []byte, files []*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	packet := append([]byte{flag}, b...)
	return c.raw(false, func(fd int) error {
		return unix.Sendmsg(fd, packet, oob, nil, unix.MSG_NOSIGNAL)
	})
}

// Recv receives one message into v and returns its descriptors, close-on-exec.
// The end of the stream is io.EOF.
func (c *Conn) Recv(v any) ([]*os.File, error) {
	var b []byte
	var files []*os.File
	for flag := byte(more); flag == more; {
		chunk, fs, err := c.recvPacket()
		files = append(files, fs...)
		if err == nil && (len(b)+len(chunk) > MaxBytes+1 || len(files) > MaxFiles) {
			err = errors.New("message too large")
		}
		if err != nil {
			CloseAll(files)
			return nil, err
		}
		flag, b = chunk[0], append(b, chunk[1:]...)
	}
	if err := decode(b, v); err != nil {
		CloseAll(files)
		return nil, err
	}
	return files, nil
}

func (c *Conn) recvPacket() ([]byte, []*os.File, error) {
	buf, oob := make([]byte, 1+chunkBytes), make([]byte, unix.CmsgSpace(4*chunkFiles))
	var n, oobn, flags int
	err := c.raw(true, func(fd int) (err error) {
		n, oobn, flags, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("receive message: %w", err)
	}
	files, err := ParseFiles(oob[:oobn])
	switch {
	case err != nil:
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = errors.New("a packet was cut short")
	case n == 0:
		err = io.EOF
	case buf[0] != last && buf[0] != more:
		err = fmt.Errorf("packet with unknown flag %d", buf[0])
	}
	return buf[:n], files, err
}

// SendFrame sends b as one packet, for what is not JSON.
func (c *Conn) SendFrame(b []byte) error {
	err := c.raw(false, func(fd int) error { return unix.Sendto(fd, b, unix.MSG_NOSIGNAL, nil) })
	if err != nil {
		return fmt.Errorf("send frame: %w", err)
	}
	return nil
}

// RecvFrame receives one packet of at most max bytes. Descriptors that come with
// it are dropped by the kernel. The end of the stream is io.EOF.
func (c *Conn) RecvFrame(max int) ([]byte, error) {
	buf := make([]byte, max+1)
	var n int
	err := c.raw(true, func(fd int) (err error) {
		n, _, _, _, err = unix.Recvmsg(fd, buf, nil, 0)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("receive frame: %w", err)
	case n == 0:
		return nil, io.EOF
	case n > max:
		return nil, errors.New("receive frame: too long")
	}
	return buf[:n], nil
}

// raw runs op, again after a signal, waiting where the end does not block.
func (c *Conn) raw(read bool, op func(fd int) error) error {
	rc, err := c.f.SyscallConn()
	if err != nil {
		return err
	}
	var opErr error
	try := func(fd uintptr) bool {
		for opErr = op(int(fd)); opErr == unix.EINTR; {
			opErr = op(int(fd))
		}
		return opErr != unix.EAGAIN
	}
	if read {
		err = rc.Read(try)
	} else {
		err = rc.Write(try)
	}
	return errors.Join(err, opErr)
}

// decode is strict: one value, no unknown field, nothing after it.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("decode message: something follows the value")
	}
	return nil
}
