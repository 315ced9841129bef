package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// killPolicy grants a workspace with names that are masked and protected, and a
// network, so that an interrupted start has everything to leave behind.
const killPolicy = `
caller: [cwd, tty, timeout, env]
write_paths: ["."]
egress_rules: ["GET example.test/**"]
`

// obey is a command that does what it is told and exits when stdin ends.
const obey = `echo up; while read -r line; do eval "$line"; done`

// scene is one exec of a user of its own, about to be interrupted.
type scene struct {
	n        *Node
	uid      uint32
	word     string
	ws       string
	files    []string
	mounts   []string
	named    []string // network namespaces
	groups   *watch
	run      *running
	jail     group
	netns    []string
	stopped  []pidfd // to be continued
	frozen   []group // to be thawed
	outer    pidfd   // bwrap as the daemon started it
	command  pidfd   // init, later the command
	egress   pidfd
	scout    pidfd
	egresses group
	session  bool // it is not an exec, but a session made with a command
}

func killNode(t *testing.T) *Node {
	return NewNode(t, Options{
		Policy: map[string]string{"kill": killPolicy},
		Config: map[string]any{"ready_jails": 0}, // each start from its beginning, and nothing beside it
	})
}

// newScene prepares an exec. Every scene has a uid of its own, because an egress
// process that is killed often is not started again for a while.
func newScene(t *testing.T, n *Node, uid uint32) *scene {
	t.Helper()
	s := &scene{n: n, uid: uid, word: fmt.Sprintf("word-of-%d-%s", uid, filepath.Base(n.Dir))}
	s.ws = n.Workspace(t, uid, map[string]string{
		"src/main.go": "package main", ".env": "SECRET=1", ".git/config": "[core]\n", ".git/hooks/pre-commit": "#!/bin/sh\n",
	})
	// Marks of tools that look at files, and of the node itself.
	for name, value := range map[string]string{"user.origin": "https://example.test/", "trusted.mark": "1"} {
		if err := unix.Setxattr(filepath.Join(s.ws, "src/main.go"), name, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	s.files, s.mounts, s.named = tree(t, s.ws), mountsBelow(t, n.Dir), namedNetworks(t)
	s.groups = n.watchGroups(t)
	return s
}

func (s *scene) ctl(args ...string) Ctl {
	return Ctl{UID: s.uid, Dir: s.ws, Args: append([]string{"exec", "--policy", "kill", "--"}, args...)}
}

// start launches the shell and learns the name of its cgroup.
func (s *scene) start(t *testing.T) {
	t.Helper()
	c := s.ctl("bash", "-c", obey, s.word)
	if s.session {
		c = s.create()
	}
	s.run = s.n.launch(t, c)
	s.jail = s.groups.made(t, "jail-")
}

// inner is the cgroup of the command itself.
func (s *scene) inner() group {
	if s.session {
		return s.jail + "/detached"
	}
	return s.jail
}

// warm runs one command, so that the user's egress process runs.
func (s *scene) warm(t *testing.T) {
	t.Helper()
	s.n.Run(t, s.ctl("true")).Want(t, 0)
	s.egresses = s.groups.made(t, "egress-")
	s.groups.removed(t, "jail-")
	s.egress = mustHold(t, s.egresses.members()[0])
}

func (s *scene) stop(t *testing.T, p pidfd) {
	t.Helper()
	p.signal(t, unix.SIGSTOP)
	t.Cleanup(func() { p.signal(t, unix.SIGCONT) })
	until(t, "every thread has stopped", func() bool { return stopped(p.pid) })
	s.stopped = append(s.stopped, p)
}

func (s *scene) freeze(t *testing.T, g group) {
	t.Helper()
	g.freeze(t)
	t.Cleanup(func() { g.thaw(t) })
	s.frozen = append(s.frozen, g)
}

// resume lets go on what was stopped, as far as it is still there.
func (s *scene) resume(t *testing.T) {
	t.Helper()
	for _, g := range s.frozen {
		g.thaw(t)
	}
	for _, p := range s.stopped {
		p.signal(t, unix.SIGCONT)
	}
	s.frozen, s.stopped = nil, nil
}

// find opens the jail's processes: bwrap, or what stands in its place, which the
// daemon started, and init below it once it is there.
func (s *scene) find(t *testing.T) {
	t.Helper()
	pids := s.inner().members()
	outer := childOf(s.n.PID(), pids)
	s.outer = mustHold(t, outer)
	net, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", outer))
	if err != nil {
		t.Fatal(err)
	}
	s.netns = append(s.netns, net)
	if init := initBelow(outer, pids); init != 0 {
		s.command = mustHold(t, init)
	}
}

// initBelow is the process that becomes the command: the child of process 1,
// which is bwrap's child, or the outer process itself where there is no bwrap. It
// is 0 while there is none.
func initBelow(outer int, pids []int) int {
	if withoutBwrap() {
		return childOf(outer, pids)
	}
	return initOfBwrap(outer, pids)
}

func initOfBwrap(outer int, pids []int) int {
	if first := childOf(outer, pids); first != 0 {
		return childOf(first, pids)
	}
	return 0
}

// atScout stops the exec with its request sent to a scout that does not read it.
// The daemon keeps some ready, and whichever it asks is the one.
func (s *scene) atScout(t *testing.T) {
	s.warm(t)
	var ready []pidfd
	until(t, "scouts wait", func() bool {
		ready = nil
		for _, g := range s.live(t) {
			if !strings.HasPrefix(g, "scout-") {
				continue
			}
			for _, pid := range group(s.groups.dir + "/" + g).members() {
				if hasServed(pid) {
					unix.Kill(pid, unix.SIGKILL) // it stayed, and would be asked
				} else if ran(t, pid) {
					ready = append(ready, mustHold(t, pid))
				}
			}
		}
		return len(ready) == readyScouts
	})
	var sockets []unix.PollFd
	for _, p := range ready {
		fd := unixSocketOf(t, p)
		defer unix.Close(fd)
		sockets = append(sockets, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		s.stop(t, p)
	}
	s.start(t)
	until(t, "a scout is asked", func() bool {
		if _, err := unix.Poll(sockets, 0); err != nil {
			return false
		}
		for i, p := range sockets {
			if p.Revents&unix.POLLIN != 0 {
				s.scout = ready[i]
			}
		}
		return s.scout.pid != 0
	})
}

// readyScouts is how many a daemon keeps waiting.
const readyScouts = 4

// atBwrap stops the exec with bwrap executed and not one instruction of it run.
func (s *scene) atBwrap(t *testing.T) {
	s.warm(t)
	s.start(t)
	s.freeze(t, s.jail)
	s.jail.await(t, "populated 1")
	s.find(t)
	s.executed(t, s.jail, s.outer.pid)
}

// executed lets the frozen process pid of g run up to the end of its next exec.
// Before that it is still half its parent, and holds all its descriptors.
// One that was frozen after its exec stays where it is.
func (s *scene) executed(t *testing.T, g group, pid int) {
	t.Helper()
	g.await(t, "frozen 1")
	if ran(t, pid) {
		return
	}
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, unix.PTRACE_O_TRACEEXEC, 0, 0)
	if errno != 0 {
		t.Fatalf("trace %d: %v", pid, errno)
	}
	g.thaw(t)
	for {
		var ws unix.WaitStatus
		if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil || !ws.Stopped() {
			t.Fatalf("process %d did not come to its exec: %v, status %#x", pid, err, ws)
		}
		if ws.TrapCause() == unix.PTRACE_EVENT_EXEC {
			break
		}
		if err := unix.PtraceCont(pid, int(ws.StopSignal())); err != nil { // a signal of the runtime's
			t.Fatal(err)
		}
	}
	g.freeze(t)
	if err := unix.PtraceDetach(pid); err != nil {
		t.Fatal(err)
	}
	g.await(t, "frozen 1")
}

// ran reports whether a child of the daemon has executed another program: until
// then it still has the daemon's own command line.
func ran(t *testing.T, pid int) bool {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Fatal(err)
	}
	return !bytes.Contains(line, []byte("--config"))
}

// atReady stops the exec with init waiting for the daemon's go.
func (s *scene) atReady(t *testing.T) {
	s.atBwrap(t)
	daemon := mustHold(t, s.n.PID())
	s.stop(t, daemon)
	s.jail.thaw(t)
	until(t, "init waits for go", func() bool {
		pids := s.inner().members()
		init := initBelow(childOf(daemon.pid, pids), pids)
		return init != 0 && blockedIn(init, unix.SYS_RECVMSG)
	})
	s.find(t)
}

// atHandOver stops the exec with the jail's sockets on their way to the egress
// process, which does not take them.
func (s *scene) atHandOver(t *testing.T) {
	s.warm(t)
	socket := unixSocketOf(t, s.egress)
	defer unix.Close(socket)
	s.stop(t, s.egress)
	s.start(t)
	waitFD(t, socket, unix.POLLIN, "nothing was handed over")
}

// atCage stops the exec with the egress process executed and not yet confined.
func (s *scene) atCage(t *testing.T) {
	s.start(t)
	s.egresses = s.groups.made(t, "egress-")
	s.freeze(t, s.egresses)
	s.egresses.await(t, "populated 1")
	s.egress = mustHold(t, s.egresses.members()[0])
	s.executed(t, s.egresses, s.egress.pid)
}

// atWork lets the command run.
func (s *scene) atWork(t *testing.T) {
	s.warm(t)
	s.start(t)
	s.run.says(t, "up")
	s.find(t)
}

// unixSocketOf is the egress process's socket to the daemon, shared until closed.
func unixSocketOf(t *testing.T, p pidfd) int {
	t.Helper()
	for fd := range 64 {
		dup, err := unix.PidfdGetfd(p.fd, fd, 0)
		if err != nil {
			continue
		}
		if domain, err := unix.GetsockoptInt(dup, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil && domain == unix.AF_UNIX {
			return dup
		}
		unix.Close(dup)
	}
	t.Fatal("the egress process has no socket to the daemon")
	return -1
}

// gone fails if anything of the exec is left beside a daemon that lives or not.
func (s *scene) gone(t *testing.T) {
	t.Helper()
	var left []string
	for _, l := range s.n.processesLeft(t, s.word, s.netns...) {
		if s.n.cmd == nil || !s.ownedByDaemon(t, l) {
			left = append(left, l)
		}
	}
	none(t, "processes", left)
	same(t, "the workspace", s.files, tree(t, s.ws))
	same(t, "the node's mounts", s.mounts, mountsBelow(t, s.n.Dir))
	same(t, "named network namespaces", s.named, namedNetworks(t))
}

// ownedByDaemon reports whether a process is an egress process of a live daemon, or
// a scout that measures a cache after the command, or one that waits: for anybody, or
// for the same caller's next command.
func (s *scene) ownedByDaemon(t *testing.T, line string) bool {
	var pid int
	fmt.Sscan(line, &pid)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return true // it was one that measured, and has ended
	}
	return egressGroup.Match(b) || cacheGroup.Match(b) || scoutGroup.Match(b) && (!hasServed(pid) || s.letsGo(t, pid))
}

// letsGo reports whether a scout that has served holds nothing of its caller's any
// more: after the command it waits for that caller's next one, or ends.
func (s *scene) letsGo(t *testing.T, pid int) bool {
	t.Helper()
	until(t, "a scout has let go of its caller's files", func() bool { return !s.holdsFiles(t, pid) })
	return true
}

func (s *scene) holdsFiles(t *testing.T, pid int) bool {
	t.Helper()
	return !dead(pid) && slices.ContainsFunc(descriptors(t, pid), func(d string) bool { return strings.HasPrefix(d, s.n.Dir) })
}

// hasServed reports whether a scout has become somebody.
func hasServed(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !strings.Contains(string(status), "\nUid:\t0\t0\t0\t0\n")
}
