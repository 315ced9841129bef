package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// waitingJails is how many the daemons of these tests keep.
const waitingJails = 2

func readyNode(t *testing.T) *Node {
	return NewNode(t, Options{
		Policy: map[string]string{"kill": killPolicy}, Config: map[string]any{"ready_jails": waitingJails},
		Bubblewrap: true,
	})
}

// waiting are the jails of n whose init waits for a command, once there are as many
// as the daemon keeps, and no other.
func (n *Node) waiting(t *testing.T) (jails []group) {
	t.Helper()
	dir := n.groups(t)
	until(t, "jails wait", func() bool {
		jails = nil
		found, _ := filepath.Glob(dir + "/jail-*")
		for _, name := range found {
			g := group(name)
			pids := g.members()
			if init := initOfBwrap(childOf(n.PID(), pids), pids); init == 0 || !blockedIn(init, unix.SYS_RECVMSG) {
				return false
			}
			jails = append(jails, g)
		}
		return len(jails) == waitingJails
	})
	return jails
}

// TestS04_AWaitingJailIsUsedOnce: each command gets one that waited, and no jail has two.
func TestS04_AWaitingJailIsUsedOnce(t *testing.T) {
	t.Parallel()
	n := readyNode(t)
	dir := n.Workspace(t, Alice, nil)
	id := func() group {
		out := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "kill", "--", "sh", "-c", "echo $OMNIJAIL_ID"}}).Want(t, 0).Stdout
		return group(n.groups(t) + "/jail-" + strings.TrimSpace(out))
	}
	var used []group
	for range 5 {
		jails := n.waiting(t)
		got := id()
		if !slices.Contains(jails, got) {
			t.Errorf("the command ran in %s, and %v had waited", got, jails)
		}
		if slices.Contains(used, got) {
			t.Errorf("%s was used again", got)
		}
		used = append(used, got)
	}
}

// TestS04_AWaitingJailBecomesItsCaller: what waits is nobody's, and what one user's
// command leaves in its jail no other's finds.
func TestS04_AWaitingJailBecomesItsCaller(t *testing.T) {
	t.Parallel()
	n := readyNode(t)
	look := `id -u; id -g; whoami; echo $HOME; stat -c %u $HOME; find /tmp /dev/shm $HOME -name left; pwd
		touch /tmp/left $HOME/left /dev/shm/left; cat /proc/sys/kernel/hostname`
	for range 3 {
		for _, uid := range []uint32{Alice, Bob} {
			dir := n.Workspace(t, uid, nil)
			out := n.Run(t, Ctl{UID: uid, Dir: dir, Args: []string{"exec", "--policy", "kill", "--", "sh", "-c", look}}).Want(t, 0)
			home := n.Home(t, uid)
			want := fmt.Sprintf("%[1]d\n%[1]d\nu%[1]d\n%[2]s\n%[1]d\n%[3]s\nomnijail\n", uid, home, dir)
			if out.Stdout != want {
				t.Errorf("uid %d sees\n%swant\n%s", uid, out.Stdout, want)
			}
			n.waiting(t)
		}
	}
}

// TestAWaitingJailThatDiedIsReplaced: the next command runs all the same, in another.
func TestAWaitingJailThatDiedIsReplaced(t *testing.T) {
	t.Parallel()
	n := readyNode(t)
	dir := n.Workspace(t, Alice, nil)
	run := Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "kill", "--", "true"}}
	n.Run(t, run).Want(t, 0)
	for name, victim := range map[string]func(pids []int) int{
		"bwrap": func(pids []int) int { return childOf(n.PID(), pids) },
		"init":  func(pids []int) int { return initOfBwrap(childOf(n.PID(), pids), pids) },
	} {
		for _, g := range n.waiting(t) {
			pids := g.members()
			init := mustHold(t, initOfBwrap(childOf(n.PID(), pids), pids))
			p := mustHold(t, victim(pids))
			p.signal(t, unix.SIGKILL)
			p.wait(t)
			init.wait(t) // which dies with bwrap
		}
		if o := n.Run(t, run); o.Exit != 0 {
			t.Errorf("%s killed: %+v", name, o)
		}
	}
	n.waiting(t)
}

// TestWaitingJailsLeaveNothing: however many were used, the daemon holds as much as
// after the first, and when it has ended, killed or not, all of them are gone.
func TestWaitingJailsLeaveNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, readyNode(t), 3701)
	n := s.n
	n.Run(t, s.ctl("true")).Want(t, 0)
	n.waiting(t)
	s.egresses = group(s.groups.dir + "/" + s.only(t, "egress-"))
	s.egress = mustHold(t, s.egresses.members()[0])
	until(t, "scouts wait", func() bool { return s.count(t, "scout-") >= readyScouts })
	before, _ := s.holds(t)
	for i := range 20 {
		command := []string{"true"}
		if i%2 == 1 {
			command = []string{"/nonexistent"}
		}
		n.Run(t, s.ctl(command...))
	}
	n.waiting(t)
	until(t, "the daemon holds no more than before", func() bool {
		after, _ := s.holds(t)
		return len(more(before, after)) == 0
	})
	n.Kill(t)
	if out, err := n.cleanup(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	none(t, "cgroups", n.groupsLeft(t))
	none(t, "processes", n.processesLeft(t, s.word))
	n.Start(t)
	n.Run(t, s.ctl("true")).Want(t, 0)
	n.waiting(t)
	n.Stop(t)
	none(t, "cgroups", n.groupsLeft(t))
	none(t, "processes", n.processesLeft(t, s.word))
	same(t, "the workspace", s.files, tree(t, s.ws))
}

// count is how many cgroups of that kind there are.
func (s *scene) count(t *testing.T, kind string) (n int) {
	for _, g := range s.live(t) {
		if strings.HasPrefix(g, kind) {
			n++
		}
	}
	return n
}

// only is the one cgroup of that kind.
func (s *scene) only(t *testing.T, kind string) string {
	for _, g := range s.live(t) {
		if strings.HasPrefix(g, kind) {
			return g
		}
	}
	t.Fatalf("no cgroup %s*", kind)
	return ""
}
