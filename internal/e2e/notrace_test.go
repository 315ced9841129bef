package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoTraceIsLeft ends an exec in every ordinary way and looks, beside a living
// daemon, for anything that it left behind.
func TestNoTraceIsLeft(t *testing.T) {
	t.Parallel()
	n := killNode(t)
	for i, way := range []struct {
		name string
		args []string // of exec
		end  func(*testing.T, *scene)
		exit int
	}{
		{"normal exit", nil, func(_ *testing.T, s *scene) { s.run.stdin.Close() }, 0},
		{"exit with a child left", nil, func(t *testing.T, s *scene) {
			s.run.tell(t, "setsid sleep 1000 & exit 3")
		}, 3},
		{"its own SIGKILL", nil, func(t *testing.T, s *scene) { s.run.tell(t, "kill -9 $$") }, 128 + 9},
		{"timeout", []string{"--timeout", "300ms"}, func(*testing.T, *scene) {}, 124},
		{"SIGTERM of the client", nil, func(t *testing.T, s *scene) { s.run.ctl.signal(t, unix.SIGTERM) }, 128 + 15},
		{"SIGKILL of the client", nil, func(t *testing.T, s *scene) { s.run.ctl.signal(t, unix.SIGKILL) }, 128 + 9},
		{"a command that is not there", []string{"--", "/nonexistent"}, func(*testing.T, *scene) {}, 127},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := newScene(t, n, uint32(3500+i))
			s.warm(t)
			daemon, egress := s.holds(t)
			c := s.ctl("bash", "-c", obey, s.word)
			c.Args = append(append([]string{"exec", "--policy", "kill"}, way.args...), c.Args[3:]...)
			s.run = n.launch(t, c)
			s.jail = s.groups.made(t, "jail-")
			if way.exit != 127 && way.exit != 124 {
				s.run.says(t, "up")
				s.find(t)
			}
			way.end(t, s)
			s.run.finish(t).Want(t, way.exit)
			s.groups.removed(t, "jail-")
			s.gone(t)
			until(t, "the daemon holds no more than before", func() bool {
				d, e := s.holds(t)
				return len(more(daemon, d)) == 0 && len(more(egress, e)) == 0
			})
			for _, d := range descriptors(t, n.PID()) {
				if slices.Contains(s.netns, d) {
					t.Errorf("the daemon still holds the network %s", d)
				}
			}
		})
	}
}

// holds counts what the daemon and the egress process hold of each kind. What the
// daemon keeps ready (networks, their sockets and programs, three roots and some
// scouts) comes and goes at its own pace, and the runtime closes descriptors of
// processes when it likes.
func (s *scene) holds(t *testing.T) (daemon, egress []string) {
	t.Helper()
	count := func(pid int, not ...string) []string {
		var kinds []string
		kept := map[string]int{"/": 3, s.groups.dir + "/scout-": readyScouts}
		for _, d := range descriptors(t, pid) {
			kind := strings.TrimRight(d, "0123456789]") // without the inode's number
			if jail := s.groups.dir + "/jail-"; strings.HasPrefix(kind, jail) {
				kind = jail // whichever
			}
			if strings.HasSuffix(kind, "/mountinfo") {
				kind = "mountinfo" // of whichever thread
			}
			if kept[kind]--; kept[kind] >= 0 {
				continue
			}
			if !slices.Contains(not, kind) {
				kinds = append(kinds, kind)
			}
		}
		return kinds
	}
	ready := []string{"net:[", "socket:[", "anon_inode:bpf_link", "anon_inode:bpf-prog", "anon_inode:bpf-map", "anon_inode:[pidfd", "pidfd:["}
	return count(s.n.PID(), ready...), count(s.egress.pid)
}

// more are the entries of after beyond those of before. Before may hold what the
// exec ahead of it was about to let go.
func more(before, after []string) []string {
	before, out := slices.Clone(before), []string(nil)
	for _, a := range after {
		if i := slices.Index(before, a); i >= 0 {
			before = slices.Delete(before, i, i+1)
		} else {
			out = append(out, a)
		}
	}
	return out
}

// TestTheStoppedDaemonIsGone: after SIGTERM nothing of the daemon is left but its
// directories and the journal, jails under way or not.
func TestTheStoppedDaemonIsGone(t *testing.T) {
	t.Parallel()
	s := newScene(t, killNode(t), 3601)
	s.start(t)
	s.run.says(t, "up")
	s.find(t)
	s.n.Stop(t)
	s.run.finish(t).WantReason(t, "omnijaild is stopping")
	s.gone(t)
	none(t, "cgroups", s.n.groupsLeft(t))
	none(t, "processes", s.n.processesLeft(t, s.word, s.netns...))
	for _, name := range []string{s.n.Socket, s.n.Dir + "/run/metrics.sock"} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}
