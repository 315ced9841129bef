package caller

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/peercred"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// Group is the cgroup of one request; *cgroup.Group is one.
type Group interface {
	Start(*exec.Cmd) error
	Kill() error
}

// Child is what every scout needs.
type Child struct {
	Init   *os.File // omnijail-init, root-owned or a sealed memfd
	Caller peercred.Caller
	Group  Group // killed when the scout is done
}

// process is one running scout.
type process struct {
	conn  *seqpacket.Conn
	cmd   *exec.Cmd
	group Group
	uid   uint32        // whose it is, once it serves
	ended chan struct{} // closed when the child is reaped
	once  sync.Once
	kill  sync.Once
	stays atomic.Bool // it has said so
}

// firstExtra is the number of ExtraFiles[0] in a child.
const firstExtra = 3

// start starts a scout with an empty environment, as root: it changes its ids
// itself, after the exec.
func (c Child) start() (*process, error) {
	conn, theirs, err := seqpacket.Pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	// The executable is one more descriptor of the child's, so that the path
	// means it there, after the others were put into their places.
	files := []*os.File{theirs, c.Init}
	cmd := &exec.Cmd{
		Path:        "/proc/self/fd/" + strconv.Itoa(firstExtra+len(files)-1),
		Args:        []string{"omnijail-init", "open"},
		Env:         []string{}, // not nil: nil would inherit
		Dir:         "/",
		ExtraFiles:  files,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := c.Group.Start(cmd); err != nil {
		conn.Close()
		return nil, fmt.Errorf("start scout: %w", err)
	}
	s := &process{conn: conn, cmd: cmd, group: c.Group, ended: make(chan struct{})}
	go func() {
		cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

// stillNonblocking returns a function that makes those of files nonblocking that
// are so now. Passing a file on makes its description blocking, and that
// of a client's connection is the daemon's own: no deadline of the daemon's would
// hold on it, and a client that neither reads nor closes would keep it for ever.
func stillNonblocking(files []*os.File) (again func()) {
	var fds []int
	for _, f := range files {
		if conn, err := f.SyscallConn(); err == nil { // Fd would do what is undone here
			conn.Control(func(fd uintptr) {
				if flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err == nil && flags&unix.O_NONBLOCK != 0 {
					fds = append(fds, int(fd))
				}
			})
		}
	}
	return func() {
		for _, fd := range fds {
			unix.SetNonblock(fd, true)
		}
		runtime.KeepAlive(files)
	}
}

// until bounds what is sent and received from now on by ctx and d.
func (s *process) until(ctx context.Context, d time.Duration) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, d)
	s.conn.SetDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { s.conn.SetDeadline(time.Unix(1, 0)) })
	return func() { stop(); cancel() }
}

// startFor starts a scout that serves uid.
func (c Child) startFor(uid uint32) (*process, error) {
	if err := abandoned.admit(uid); err != nil {
		return nil, err
	}
	s, err := c.start()
	if err == nil {
		s.uid = uid
	}
	return s, err
}

// dyingTime is how long a killed scout may take before it is left behind.
const dyingTime = 2 * time.Second

// dismiss kills the scout and all that it started, without waiting for that.
func (s *process) dismiss() {
	s.kill.Do(func() {
		s.conn.Close()
		s.cmd.Process.Kill()
		s.group.Kill()
	})
}

// leave is end for one that does not stay.
func (s *process) leave() {
	if !s.stays.Load() {
		s.end()
	}
}

// end kills the scout and all that it started, and waits. It may be called again.
func (s *process) end() {
	s.once.Do(func() {
		s.dismiss()
		select {
		case <-s.ended:
		case <-time.After(dyingTime):
			abandoned.add(s.uid)
			go func() {
				<-s.ended
				abandoned.remove(s.uid)
			}()
		}
	})
}

// as is who the scout becomes: the caller with all its groups, or, for root, the
// user that root named.
func (c Child) as(user jail.User) (child.Credential, error) {
	uid := c.Caller.UID()
	switch {
	case uid == 0 && user.UID != 0:
		return child.Credential{UID: user.UID, GID: user.GID, Groups: user.Groups}, nil
	case uid == 0 || uid != user.UID:
		return child.Credential{}, fmt.Errorf("uid %d may not act as uid %d", uid, user.UID)
	}
	return child.Credential{UID: uid, GID: c.Caller.GID(), Groups: c.Caller.Groups()}, nil
}
