package daemon

import (
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/peercred"
)

// Holding is a live jail as a changed configuration judges it.
type Holding struct {
	Caller   peercred.Caller
	Confined bool // it called from a sandbox of its own
	Spec     *jail.Spec
	User     jail.User      // as whom its commands run
	Under    *config.Config // when its egress process was told of the policy; nil before
}

// Revoke asks still about every live jail and ends those for which it gives a
// reason, with that reason. Egress processes are ended too, so that the next
// jail starts under the configuration now in force; jails that go on keep
// theirs until they end. It returns how many jails were ended.
func (m *Manager) Revoke(still func(Holding) string) int {
	m.mu.Lock()
	m.epoch++
	m.still = still
	ended := map[*liveJail]string{}
	for _, j := range m.jails {
		if reason := still(j.holding()); reason != "" {
			ended[j] = reason
		}
	}
	procs := m.procs
	m.procs = map[egressKey]*egressProc{}
	m.mu.Unlock()
	for j, reason := range ended {
		j.end(reason)
	}
	for _, p := range procs {
		p.retire()
	}
	return len(ended)
}

// Epoch counts the changes of the configuration. A caller of Admit reads it before
// the configuration: what it has decided then is judged anew if that has changed
// by the time the jail comes into the table, where Revoke could see it.
func (m *Manager) Epoch() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch
}

// revoked says why a jail that was decided in an earlier epoch may not start, or
// nothing. The table is locked.
func (m *Manager) revoked(epoch uint64, j *liveJail) string {
	if epoch == m.epoch || m.still == nil {
		return ""
	}
	return m.still(j.holding())
}

func (j *liveJail) holding() Holding {
	n := j.policy.Load()
	return Holding{Caller: j.caller, Confined: j.confined, Spec: n.plan.Spec, User: n.plan.User, Under: j.under.Load()}
}

// retire ends a process that has no jail, now or when its last one is gone.
func (p *egressProc) retire() {
	p.mu.Lock()
	p.retired = true
	idle := len(p.jails) == 0
	p.mu.Unlock()
	if idle {
		p.end(nil)
	}
}
