package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// namespaces are those that a thread returns to.
type namespaces struct {
	net, mnt *os.File
}

func openNamespaces() (namespaces, error) {
	net, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return namespaces{}, err
	}
	mnt, err := os.Open("/proc/thread-self/ns/mnt")
	if err != nil {
		net.Close()
		return namespaces{}, err
	}
	return namespaces{net, mnt}, nil
}

// addThread starts one spawner thread and returns once it serves.
func (p *Pool) addThread() error {
	ready := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: see New
		if err := prepareThread(); err != nil {
			ready <- err
			return
		}
		ready <- nil
		p.serve()
	}()
	return <-ready
}

// prepareThread makes the calling thread fit to enter mount namespaces and gives
// it what its children shall inherit: no priority of the daemon's.
func prepareThread() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("spawner thread: own working directory: %w", err)
	}
	unix.Umask(0) // of this thread alone by now; modes in the staged tree are exact
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("spawner thread: normal scheduling: %w", err)
	}
	const ofThread = 1 // IOPRIO_WHO_PROCESS: one thread
	if _, _, errno := unix.RawSyscall(unix.SYS_IOPRIO_SET, ofThread, 0, 0); errno != 0 {
		return fmt.Errorf("spawner thread: normal input/output priority: %w", errno)
	}
	return nil
}

// serve runs jobs until the thread cannot be brought back to the node's
// namespaces. Such a thread stays, because its children die with it, but takes
// no further job.
func (p *Pool) serve() {
	for j := range p.jobs {
		process, back, err := p.job(j)
		j.reply <- result{process, errors.Join(err, back)}
		if back != nil {
			if err := p.addThread(); err != nil {
				panic("omnijail: internal error: no spawner thread: " + err.Error())
			}
			select {}
		}
	}
}

// job does one start in its v1 cgroups. They are paths of the node, so they are
// entered before the namespaces and left after them. back is why the thread did
// not come home.
func (p *Pool) job(j job) (process *Process, back, err error) {
	if j.cmd == nil {
		back, err = p.visit(j)
		return nil, back, err
	}
	leave := func() error { return nil }
	if j.opts.Enter != nil {
		if leave, err = j.opts.Enter(); err != nil {
			return nil, nil, err
		}
	}
	process, err = p.run(j)
	return process, errors.Join(p.goHome(j.opts), leave()), err
}

// run enters the namespaces of j on the calling thread and starts its command.
func (p *Pool) run(j job) (*Process, error) {
	if j.opts.Netns != nil {
		if err := unix.Setns(int(j.opts.Netns.Fd()), unix.CLONE_NEWNET); err != nil {
			return nil, fmt.Errorf("enter network namespace: %w", err)
		}
	}
	if j.opts.Kept != nil {
		if err := p.takeKept(j.opts); err != nil {
			return nil, err
		}
	}
	if j.opts.Stage != nil {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return nil, fmt.Errorf("new mount namespace: %w", err)
		}
		// Nothing that is mounted here may reach the node, while an unmount on
		// the node must reach us: a private copy would keep it alive.
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return nil, fmt.Errorf("make mounts slaves of the node's: %w", err)
		}
		if err := j.opts.Stage(); err != nil {
			return nil, err
		}
	}
	return start(j.cmd, j.opts.Cgroup, p.devNull)
}

// visit enters a jail and comes back.
func (p *Pool) visit(j job) (back, err error) {
	fds, err := numbers([]*os.File{j.jail})
	if err != nil {
		return nil, err
	}
	if err := unix.Setns(int(fds[0]), unix.CLONE_NEWNS); err != nil {
		return nil, fmt.Errorf("enter the jail's mount namespace: %w", err)
	}
	err = j.do()
	if back = unix.Setns(int(p.home.mnt.Fd()), unix.CLONE_NEWNS); back != nil {
		back = fmt.Errorf("return to the node's mount namespace: %w", back)
	}
	return back, err
}

// takeKept runs Clone in the namespace of kept mounts. After an error goHome brings the
// thread back.
func (p *Pool) takeKept(o Options) error {
	if err := unix.Setns(int(o.Kept.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the namespace of kept mounts: %w", err)
	}
	if err := o.Clone(); err != nil {
		return fmt.Errorf("take kept mounts: %w", err)
	}
	if err := unix.Setns(int(p.home.mnt.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("leave the namespace of kept mounts: %w", err)
	}
	return nil
}

// goHome brings the calling thread back. The mount namespace is entered by
// descriptor, which also resets root and working directory.
func (p *Pool) goHome(o Options) error {
	if o.Netns != nil {
		if err := unix.Setns(int(p.home.net.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("return to the node's network namespace: %w", err)
		}
	}
	if o.Stage != nil || o.Kept != nil {
		if err := unix.Setns(int(p.home.mnt.Fd()), unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("return to the node's mount namespace: %w", err)
		}
	}
	return nil
}
