package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// Channel is the daemon's end of the socket to omnijail-init run. Packets are
// one letter and its fields: R (ready, with a pidfd), G (go, with the launch record
// and the files that it speaks of), E (failed).
type Channel struct {
	conn *os.File
}

// NewChannel returns a channel and init's end of it, which is donated to the jail.
func NewChannel() (*Channel, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("channel to init: %w", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, fmt.Errorf("channel to init: %w", err)
	}
	return &Channel{os.NewFile(uintptr(fds[0]), "init-channel")}, os.NewFile(uintptr(fds[1]), "init"), nil
}

// ErrInitGone says that init ended without a word: it was killed, or the backend
// failed before it. The backend's complaint then says why.
var ErrInitGone = errors.New("the jail ended before its command was started")

// Ready waits for init and returns a pidfd of it, which after a successful
// Result is the command's. The caller closes it.
func (c *Channel) Ready(ctx context.Context) (*os.File, error) {
	msg, fds, err := c.receive(ctx, 1)
	if err != nil {
		return nil, err
	}
	if len(msg) == 0 {
		return nil, ErrInitGone
	}
	if start, err := child.DecodeStartError(msg); err == nil {
		closeAll(fds)
		return nil, start
	}
	if string(msg) != "R" || len(fds) != 1 {
		closeAll(fds)
		return nil, errors.New("init did not report ready")
	}
	return os.NewFile(uintptr(fds[0]), "pidfd"), nil
}

// Go lets init drop its privileges and execute the command of the launch record.
// The files stay the caller's. The error is ErrInitGone where nobody waits any more.
func (c *Channel) Go(launch *os.File, files ...*os.File) error {
	sent, err := numbers(append([]*os.File{launch}, files...))
	if err != nil {
		return fmt.Errorf("let init go: %w", err)
	}
	fds := make([]int, len(sent))
	for i, fd := range sent {
		fds[i] = int(fd)
	}
	err = c.write([]byte("G"), unix.UnixRights(fds...))
	runtime.KeepAlive(launch)
	runtime.KeepAlive(files)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return ErrInitGone
	}
	if err != nil {
		return fmt.Errorf("let init go: %w", err)
	}
	return nil
}

// Result waits until the command runs, which init's side shows by closing on
// exec. Otherwise the error is a *child.StartError, or ErrInitGone is for the
// caller to tell from a command that ran: a killed init closes too.
func (c *Channel) Result(ctx context.Context) error {
	msg, fds, err := c.receive(ctx, 0)
	closeAll(fds)
	switch {
	case err != nil:
		return err
	case len(msg) == 0:
		return nil
	}
	start, err := child.DecodeStartError(msg)
	if err != nil {
		return err
	}
	return start
}

// Close closes the daemon's end. An init that still waits for go then exits.
func (c *Channel) Close() error { return c.conn.Close() }

// receive reads one packet with at most nfds descriptors. An empty packet is the
// end of the channel.
func (c *Channel) receive(ctx context.Context, nfds int) (msg []byte, fds []int, err error) {
	c.conn.SetReadDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { c.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	conn, err := c.conn.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	buf := make([]byte, child.MaxStartPacket+1)
	oob := make([]byte, unix.CmsgSpace(4*nfds))
	var n, oobn, flags int
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		for {
			n, oobn, flags, _, failed = unix.Recvmsg(int(fd), buf, oob, unix.MSG_CMSG_CLOEXEC)
			if failed != unix.EINTR {
				return failed != unix.EAGAIN
			}
		}
	})
	if err != nil {
		return nil, nil, errors.Join(ctx.Err(), err)
	}
	if errors.Is(failed, unix.ECONNRESET) { // ended with our go unread
		return nil, nil, nil
	}
	if failed != nil {
		return nil, nil, fmt.Errorf("read from init: %w", failed)
	}
	fds = rights(oob[:oobn])
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		closeAll(fds)
		return nil, nil, errors.New("read from init: an oversized packet")
	}
	return buf[:n], fds, nil
}

func (c *Channel) write(b, rights []byte) error {
	conn, err := c.conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Write(func(fd uintptr) bool {
		failed = unix.Sendmsg(int(fd), b, rights, nil, unix.MSG_NOSIGNAL)
		return failed != unix.EAGAIN
	})
	return errors.Join(err, failed)
}

func rights(oob []byte) (fds []int) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for _, m := range msgs {
		if got, err := unix.ParseUnixRights(&m); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
