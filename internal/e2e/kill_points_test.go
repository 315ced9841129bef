package e2e

import (
	"regexp"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// The cgroups of what a daemon keeps beside the jails.
var (
	egressGroup = regexp.MustCompile(`omnijail-[0-9a-f]+/egress-`)
	scoutGroup  = regexp.MustCompile(`omnijail-[0-9a-f]+/scout-`)
	cacheGroup  = regexp.MustCompile(`omnijail-[0-9a-f]+/cache-`)
)

// point is a moment of an exec at which everything stands still, and which
// processes there are then, beside the daemon.
type point struct {
	name    string
	reach   func(*scene, *testing.T)
	victims []string
}

var points = []point{
	{"a scout asked and not yet at work", (*scene).atScout, []string{"omnijailctl", "scout"}},
	{"bwrap before its set-up", (*scene).atBwrap, []string{"omnijailctl", "egress", "bwrap"}},
	{"init at ready", (*scene).atReady, []string{"omnijailctl", "egress", "bwrap", "init"}},
	{"egress at hand-over", (*scene).atHandOver, []string{"omnijailctl", "egress"}},
	{"egress before its cage", (*scene).atCage, []string{"omnijailctl", "egress"}},
	{"the command at work", (*scene).atWork, []string{"omnijailctl", "egress", "bwrap", "command"}},
}

// TestKilledDaemonLeavesNothing kills omnijaild at every point. What it had under
// way is gone after `omnijaild cleanup`, and after the next start as well.
func TestKilledDaemonLeavesNothing(t *testing.T) {
	t.Parallel()
	n := killNode(t)
	run := n.runDir(t)
	uid := uint32(3000)
	for _, p := range points {
		for _, after := range []string{"cleanup", "the next start"} {
			uid++
			ok := t.Run(p.name+", then "+after, func(t *testing.T) {
				s := newScene(t, n, uid)
				p.reach(s, t)
				n.Kill(t)
				if p.name == "the command at work" {
					s.command.wait(t) // at once, without any help
				}
				s.daemonKilled(t, after == "cleanup", "omnijaild ended before the command did")
				same(t, "the run directory", run, n.runDir(t))
				n.Run(t, s.ctl("true")).Want(t, 0)
			})
			if !ok {
				return // the daemon may not run any more
			}
		}
	}
}

// TestKilledPartEndsTheExec kills everything else at every point. The daemon
// lives on, ends the exec with a reason and removes what there was of it.
func TestKilledPartEndsTheExec(t *testing.T) {
	t.Parallel()
	n := killNode(t)
	uid := uint32(3100)
	for _, p := range points {
		for _, name := range p.victims {
			uid++
			ok := t.Run(name+", "+p.name, func(t *testing.T) {
				s := newScene(t, n, uid)
				p.reach(s, t)
				s.partKilled(t, name, func() { s.ended(t, name) })
			})
			if !ok {
				return
			}
		}
	}
}

// daemonKilled sees what the daemon had under way go after its death: by its cleanup,
// where that is called, else with the next start. says is what the client is told.
func (s *scene) daemonKilled(t *testing.T, cleanup bool, says string) {
	t.Helper()
	// A scout that does not run keeps the client's connection until it is swept.
	ended := sync.OnceFunc(func() { s.run.finish(t).WantReason(t, says) })
	if s.scout.pid == 0 {
		ended()
	}
	if cleanup {
		if out, err := s.n.cleanup(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		none(t, "cgroups", s.n.groupsLeft(t))
		ended()
		s.gone(t)
	}
	s.n.Start(t)
	ended()
	s.gone(t)
}

// partKilled kills one process of the scene and sees all others go. The daemon lives
// on, which ended looks at first.
func (s *scene) partKilled(t *testing.T, name string, ended func()) {
	t.Helper()
	v := s.process(name)
	v.signal(t, unix.SIGKILL)
	v.wait(t)
	if name == "bwrap" && s.command.pid != 0 {
		s.command.wait(t) // which dies with it
	}
	s.resume(t)
	ended()
	if got := s.groups.removed(t, "jail-"); got != s.jail {
		t.Errorf("%s was removed, want %s", got, s.jail)
	}
	s.gone(t)
	s.n.Run(t, s.ctl("true")).Want(t, 0)
}

func (s *scene) process(name string) pidfd {
	switch name {
	case "omnijailctl":
		return s.run.ctl
	case "egress":
		return s.egress
	case "bwrap":
		return s.outer
	case "scout":
		return s.scout
	}
	return s.command
}

// ended checks how the exec ended after one of its processes was killed.
func (s *scene) ended(t *testing.T, victim string) {
	t.Helper()
	o := s.run.finish(t)
	switch victim {
	case "omnijailctl", "command":
		o.Want(t, 128+9)
	case "egress":
		o.WantReason(t, "egress process")
	case "scout":
		o.WantReason(t, "looks at your files")
	default:
		o.WantReason(t, "jail")
	}
}

// TestDeadEgressRefusesConnects looks from inside while the daemon cannot react:
// the network is gone with the egress process itself, at once and not by timeout.
func TestDeadEgressRefusesConnects(t *testing.T) {
	t.Parallel()
	s := newScene(t, killNode(t), 3201)
	s.warm(t)
	s.start(t)
	s.run.says(t, "up")
	const connect = `if (exec 3<>/dev/tcp/198.18.0.7/443) 2>/tmp/why; then echo in; else grep -o 'Connection refused' /tmp/why; fi`
	s.run.tell(t, connect)
	s.run.says(t, "in\n")
	s.stop(t, mustHold(t, s.n.PID()))
	s.egress.signal(t, unix.SIGKILL)
	s.egress.wait(t)
	s.run.tell(t, connect)
	s.run.says(t, "Connection refused\n")
	s.run.tell(t, `curl -sS -o /dev/null https://example.test/ || echo "curl $?"`)
	s.run.says(t, "curl 6\n")
	s.resume(t)
	s.run.finish(t).WantReason(t, "egress process")
}
