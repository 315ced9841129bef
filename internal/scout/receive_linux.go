package scout

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/seqpacket"
)

// maxPassed is what one control message can carry (the kernel's SCM_MAX_FD).
const maxPassed = 253

// receive does the one recvmsg on the client's connection: exactly one byte 0x00
// with exactly three descriptors and one per secret. What the client sends after
// that message is left for the daemon.
func receive(conn []*os.File, secrets int) (stdio, rest []*os.File, err error) {
	if len(conn) != 1 {
		return nil, nil, refuse("stdio", "the client's connection is missing")
	}
	want := 3 + secrets
	if want > maxPassed {
		return nil, nil, refuse("stdio", "%d descriptors cannot be passed at once", want)
	}
	// One byte more than expected, to see whether the message has more.
	buf, oob := make([]byte, 2), make([]byte, unix.CmsgSpace(4*maxPassed))
	n, oobn, flags, err := recvWaiting(conn[0], buf, oob)
	if err != nil {
		return nil, nil, refuse("stdio", "cannot receive your descriptors: %v", err)
	}
	files, err := seqpacket.ParseFiles(oob[:oobn])
	if err != nil {
		return nil, nil, refuse("stdio", "%v", err)
	}
	if n != 1 || buf[0] != 0 || flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0 || len(files) != want {
		seqpacket.CloseAll(files)
		return nil, nil, refuse("stdio", "expected one zero byte with %d descriptors, got %d bytes with %d", want, n, len(files))
	}
	return files[:3], files[3:], nil
}

// recvWaiting is a recvmsg that waits by itself: the connection does not block,
// because the daemon shares its flags, which stay as they are.
func recvWaiting(f *os.File, buf, oob []byte) (n, oobn, flags int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, 0, 0, err
	}
	failed := raw.Control(func(fd uintptr) { n, oobn, flags, err = recvOn(int(fd), buf, oob) })
	return n, oobn, flags, errors.Join(failed, err)
}

func recvOn(conn int, buf, oob []byte) (n, oobn, flags int, err error) {
	for {
		n, oobn, flags, _, err = unix.Recvmsg(conn, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EAGAIN {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(conn), Events: unix.POLLIN}}, -1)
			if err == nil {
				continue
			}
		}
		if err != unix.EINTR {
			return n, oobn, flags, err
		}
	}
}
