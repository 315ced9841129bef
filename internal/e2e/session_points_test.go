package e2e

import "testing"

// creation are the moments of a session's creation, of one with a command of its
// own: it is made of the same processes as an exec, and a client that waits.
var creation = []point{
	{"a scout asked and not yet at work", (*scene).atScout, []string{"omnijailctl", "scout"}},
	{"egress at hand-over", (*scene).atHandOver, []string{"omnijailctl", "egress"}},
	{"egress before its cage", (*scene).atCage, []string{"omnijailctl", "egress"}},
	{"bwrap before its set-up", (*scene).atBwrap, []string{"omnijailctl", "egress", "bwrap"}},
	{"init at ready", (*scene).atReady, []string{"omnijailctl", "bwrap", "init"}},
}

// create makes a session whose command stays.
func (s *scene) create() Ctl {
	return Ctl{UID: s.uid, Dir: s.ws, Args: []string{"create", "--policy", "kill", "--", "bash", "-c", "sleep 1000; true", s.word}}
}

func newCreation(t *testing.T, n *Node, uid uint32) *scene {
	t.Helper()
	s := newScene(t, n, uid)
	s.session = true
	return s
}

// TestADaemonKilledAtACreationLeavesNothing kills omnijaild at every point of it.
func TestADaemonKilledAtACreationLeavesNothing(t *testing.T) {
	t.Parallel()
	n := killNode(t)
	run := n.runDir(t)
	for i, p := range creation {
		ok := t.Run(p.name, func(t *testing.T) {
			s := newCreation(t, n, uint32(3300+i))
			p.reach(s, t)
			n.Kill(t)
			s.daemonKilled(t, i%2 == 0, "omnijaild ended before the jail was made")
			same(t, "the run directory", run, n.runDir(t))
			n.Run(t, Ctl{UID: s.uid, Args: []string{"ls"}}).Want(t, 0)
			n.Run(t, s.ctl("true")).Want(t, 0)
		})
		if !ok {
			return // the daemon may not run any more
		}
	}
}

// TestAPartKilledAtACreationEndsIt kills everything else at every point. The daemon
// lives on, says why, and there is no session: one whose client was never told of it
// would stay for a day with nobody to end it.
func TestAPartKilledAtACreationEndsIt(t *testing.T) {
	t.Parallel()
	n := killNode(t)
	uid := uint32(3400)
	for _, p := range creation {
		for _, name := range p.victims {
			uid++
			ok := t.Run(name+", "+p.name, func(t *testing.T) {
				s := newCreation(t, n, uid)
				p.reach(s, t)
				s.partKilled(t, name, func() {
					if o := s.run.finish(t); name == "omnijailctl" {
						o.Want(t, 128+9)
					} else {
						o.WantReason(t, "egress process", "looks at your files", "jail")
					}
				})
			})
			if !ok {
				return
			}
		}
	}
}
