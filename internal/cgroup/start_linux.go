package cgroup

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts cmd in the group, in every hierarchy that the group is in. It
// must not be a command whose parent's death signal matters: a thread that could
// not leave the group again ends after it.
func (g *Group) Start(cmd *exec.Cmd) error {
	if dir := g.Dir(); dir != nil {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		leave, err := g.Enter()
		if err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
		if leave() == nil {
			runtime.UnlockOSThread()
		}
	}()
	return <-started
}
