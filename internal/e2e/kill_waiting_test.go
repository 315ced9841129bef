package e2e

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const waitingKills = 40

// wordsOfAnEnd are the reasons of a command whose jail or scout was killed: whatever
// was under way, in words of who asked, not of a call that failed.
var wordsOfAnEnd = regexp.MustCompile(`^omnijailctl: (the command was ended: new files are not watched any more: )?` +
	`(the jail ended before its command('s exit)? was (started|reported)|` +
	`the process that looks at your files as you has ended too soon: it was killed, or had no memory left)\n(hint: omnijailctl why [0-9a-f]+\n)?$`)

// TestKilledAtAnyInstantAWaitingJailIsNobodys runs commands of two users while
// somebody kills processes of jails that wait, of those that have just been taken,
// and scouts. A command runs as it should, or ends with a reason; none hangs, and the
// daemon goes on.
func TestKilledAtAnyInstantAWaitingJailIsNobodys(t *testing.T) {
	t.Parallel()
	n := readyNode(t)
	s := &scene{n: n, groups: &watch{dir: n.groups(t)}}
	dirs := map[uint32]string{}
	for _, uid := range []uint32{Alice, Bob} {
		dirs[uid] = n.Workspace(t, uid, map[string]string{".git/HEAD": "", ".git/config": "", "a/b": ""})
	}
	over := make(chan struct{})
	var killer, users sync.WaitGroup
	killer.Go(func() {
		rng := rand.New(rand.NewPCG(randomSeed, 1))
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Duration(rng.Int64N(int64(execTime)))):
			}
			s.killOne(t, rng)
		}
	})
	for uid, dir := range dirs {
		users.Go(func() {
			for i := range soak(t, waitingKills) {
				script := fmt.Sprintf("id -u; pwd; echo %d", i)
				o := n.Run(t, Ctl{UID: uid, Dir: dir, Args: []string{"exec", "--policy", "kill", "--", "sh", "-ec", script}})
				switch {
				case o.Exit == 0 && o.Stdout == fmt.Sprintf("%d\n%s\n%d\n", uid, dir, i):
				case o.Exit == 125 && wordsOfAnEnd.MatchString(o.Stderr), o.Exit == 128+9:
				default:
					t.Errorf("uid %d: %+v", uid, o)
				}
			}
		})
	}
	users.Wait()
	close(over)
	killer.Wait()
	for range waitingJails + 1 { // of those that died one is missed when its turn comes
		n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--policy", "kill", "--", "true"}}).Want(t, 0)
	}
	n.waiting(t)
}

// killOne kills some process of a jail or a scout, if there is one, and sees it end.
func (s *scene) killOne(t *testing.T, rng *rand.Rand) {
	var pids []int
	for _, g := range s.live(t) {
		if strings.HasPrefix(g, "jail-") || strings.HasPrefix(g, "scout-") && rng.IntN(4) == 0 {
			pids = append(pids, group(s.groups.dir+"/"+g).members()...)
		}
	}
	if len(pids) == 0 {
		return
	}
	if p, ok := hold(t, pids[rng.IntN(len(pids))]); ok {
		p.signal(t, unix.SIGKILL)
		p.wait(t)
	}
}
