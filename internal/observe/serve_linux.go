package observe

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seccomp"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

const (
	// maxQueued is how many calls may wait to be looked at. What comes faster is
	// counted, not looked at.
	maxQueued = 1024
	// maxReports bounds what one command can have reported.
	maxReports = 1000
	// maxKnown bounds the different paths of which a second call is not looked at
	// again.
	maxKnown = 1 << 14
)

// observer is one command's.
type observer struct {
	listener *os.File
	conn     *seqpacket.Conn
	calls    map[int32]seccomp.Reported
	grants   []string
	root     *os.File // of the jail, once a process of it could be looked at
	known    map[look]bool
	queue    chan look
	reports  chan child.Observation
	lost     int
}

// Serve receives the listener from socket, which omnijail-init in the jail holds
// the other end of, and answers until the last process of the jail is gone. What it saw refused goes to conn.
func Serve(conn *seqpacket.Conn, socket *os.File, req child.ObserveRequest) error {
	filter, err := seccomp.Observer()
	if err != nil {
		return err
	}
	if err := filter.InstallAll(); err != nil {
		return err
	}
	calls, err := seccomp.Calls()
	if err != nil {
		return err
	}
	listener, err := receive(socket)
	if err != nil {
		return err
	}
	o := &observer{
		listener: listener, conn: conn, calls: calls, grants: req.Grants, known: map[look]bool{},
		queue: make(chan look, maxQueued), reports: make(chan child.Observation, maxReports),
	}
	if scope := tracing(); scope != "" {
		o.reports <- child.Observation{Kind: child.ObservedNothing, What: "kernel.yama.ptrace_scope is " + scope}
	}
	sent := make(chan struct{})
	go o.judge()
	go func() {
		defer close(sent)
		o.send()
	}()
	o.answer()
	close(o.queue)
	<-sent
	return nil
}

// receive takes the one descriptor that init sends.
func receive(socket *os.File) (*os.File, error) {
	defer socket.Close()
	var b [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(socket.Fd()), b[:], oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("receive the listener: %w", err)
	}
	files, err := seqpacket.ParseFiles(oob[:n])
	if err == nil && len(files) != 1 {
		seqpacket.CloseAll(files)
		err = errors.New("receive the listener: it did not come")
	}
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// notification and response are the kernel's struct seccomp_notif and
// seccomp_notif_resp.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

const (
	proceed = 1          // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	isValid = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID
)

func (o *observer) ioctl(request uintptr, p unsafe.Pointer) unix.Errno {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, o.listener.Fd(), request, uintptr(p))
		if errno != unix.EINTR {
			return errno
		}
	}
}

// answer answers each notification until there can be no more.
func (o *observer) answer() {
	fds := []unix.PollFd{{Fd: int32(o.listener.Fd()), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil {
			if err == unix.EINTR {
				continue
			}
			return
		}
		if fds[0].Revents&unix.POLLIN != 0 {
			o.one()
		} else if fds[0].Revents != 0 {
			return
		}
	}
}

// one takes and answers one notification. Only a call of the native ABI that is in
// the table as one that names a file goes on.
func (o *observer) one() {
	var n notification
	if o.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)) != 0 {
		return // its process was killed meanwhile
	}
	call, ok := o.calls[n.nr]
	file := ok && call.File && n.arch == native
	r := response{id: n.id, errno: -int32(unix.EPERM)}
	var looks []look
	if file {
		looks = o.names(&n, call.Name)
		r = response{id: n.id, flags: proceed}
	}
	o.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
	if !file {
		looks = []look{{call: n.nr}}
	}
	for _, l := range looks {
		o.remember(l)
	}
}

// remember queues what has not been looked at before.
func (o *observer) remember(l look) {
	if o.known[l] {
		return
	}
	if len(o.known) >= maxKnown {
		o.lost++
		return
	}
	select {
	case o.queue <- l:
		o.known[l] = true
	default:
		o.lost++
	}
}

// send sends the reports, and at the end how many calls were not looked at.
func (o *observer) send() {
	sent := 0
	for r := range o.reports {
		if sent++; sent > maxReports {
			continue
		}
		if o.conn.Send(r) != nil {
			return
		}
	}
	if lost := o.lost + max(0, sent-maxReports); lost > 0 {
		o.conn.Send(child.Observation{Kind: child.ObservedNothing, What: fmt.Sprintf("%d calls came too fast, or were too many", lost)})
	}
}
