package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	randomKills = 50
	// randomSeed makes a run repeatable as far as the scheduler allows.
	randomSeed = 20261130
	// execTime is about what a start with a cold egress process takes here.
	execTime = 60 * time.Millisecond
)

// TestKilledAtAnyInstantLeavesNothing kills one process of an exec, or the daemon,
// at instants that nobody chose. The instant is the only thing that time decides.
func TestKilledAtAnyInstantLeavesNothing(t *testing.T) {
	t.Parallel()
	n := killNode(t)
	rng := rand.New(rand.NewPCG(randomSeed, 0))
	seen := map[string]int{}
	for i := range soak(t, randomKills) {
		instant := time.Duration(rng.Int64N(int64(execTime)))
		choice := rng.IntN(4)
		uid := uint32(3300 + i)
		ok := t.Run(fmt.Sprintf("%d after %v", i, instant), func(t *testing.T) {
			s := newScene(t, n, uid)
			s.run = n.launch(t, s.ctl("bash", "-c", obey, s.word))
			time.Sleep(instant)
			victim, name := s.pick(t, choice, rng)
			seen[name]++
			t.Logf("killing %s", name)
			victim.signal(t, unix.SIGKILL)
			victim.wait(t)
			if name == "omnijaild" {
				s.afterDaemon(t, i%2 == 0)
			} else {
				s.afterPart(t, name)
			}
			s.gone(t)
			n.Run(t, s.ctl("true")).Want(t, 0)
		})
		if !ok {
			return
		}
	}
	t.Logf("killed: %v", seen)
}

// pick chooses what is killed: the daemon, the client, or a process that it finds
// in a cgroup of the jail, a scout or the egress process.
func (s *scene) pick(t *testing.T, choice int, rng *rand.Rand) (pidfd, string) {
	t.Helper()
	switch choice {
	case 0:
		return mustHold(t, s.n.PID()), "omnijaild"
	case 1:
		return s.run.ctl, "omnijailctl"
	}
	type candidate struct {
		p    pidfd
		name string
	}
	var found []candidate
	for _, g := range s.live(t) {
		kind, _, _ := strings.Cut(g, "-")
		if kind == "egress" && !strings.HasPrefix(g, fmt.Sprintf("egress-%d-", s.uid)) {
			continue // another round's, idle
		}
		for _, pid := range group(s.groups.dir + "/" + g).members() {
			if p, ok := hold(t, pid); ok {
				found = append(found, candidate{p, kind})
			}
		}
	}
	if len(found) == 0 {
		return s.run.ctl, "omnijailctl"
	}
	c := found[rng.IntN(len(found))]
	return c.p, c.name
}

// live are the names of the daemon's cgroups.
func (s *scene) live(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(s.groups.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// afterDaemon cleans up. Until then a bwrap that lost its parent in the middle of
// a fork may wait for it for ever, with no command run and the client's pipes open.
func (s *scene) afterDaemon(t *testing.T, cleanup bool) {
	t.Helper()
	<-s.n.exited
	s.n.cmd = nil
	s.run.ctl.wait(t)
	if cleanup {
		if out, err := s.n.cleanup(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		none(t, "cgroups", s.n.groupsLeft(t))
		s.gone(t)
	}
	s.n.Start(t)
	s.run.finish(t).Want(t, 125)
}

// afterPart lets the command end, if it still runs, and waits for the daemon to
// be done with the exec.
func (s *scene) afterPart(t *testing.T, victim string) {
	t.Helper()
	s.run.stdin.Close()
	o := s.run.finish(t)
	switch {
	case o.Exit == 0 && (victim == "scout" || victim == "egress"): // it had done its work
	case o.Exit == 0 && victim == "cache": // it measures beside the commands; the next one has it done again
	case o.Exit == 125 && strings.HasPrefix(o.Stderr, "omnijailctl: "):
	case o.Exit == 128+9 && (victim == "jail" || victim == "omnijailctl"):
	default:
		t.Errorf("after the death of %s: exit %d, stderr %q", victim, o.Exit, o.Stderr)
	}
	until(t, "the daemon is done with the exec", func() bool {
		waiting := 0
		for _, g := range s.live(t) {
			switch kind, _, _ := strings.Cut(g, "-"); {
			case kind == "egress":
			case kind == "scout":
				pids := group(s.groups.dir + "/" + g).members()
				if slices.ContainsFunc(pids, func(pid int) bool { return s.holdsFiles(t, pid) }) {
					return false
				}
				// Those that have served stay for their callers' next commands, and one
				// that was killed is missed when it is wanted.
				if len(pids) > 0 && !slices.ContainsFunc(pids, hasServed) {
					waiting++
				}
			default:
				return false
			}
		}
		return waiting <= readyScouts
	})
}
