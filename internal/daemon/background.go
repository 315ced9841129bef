package daemon

import (
	"net/http"
	"slices"

	"github.com/omnijail/omnijail/api"
)

// maxDetached bounds the detached commands of a jail, with those that have ended and
// whose output is kept: each has a process that keeps it.
const maxDetached = 16

// Detach starts the command of p without a client. The exit is of one that could not
// be started.
func (v *Visit) Detach(p *Plan) (api.Detached, api.Exit, *api.Error) {
	j := v.j
	j.detaching.Lock()
	defer j.detaching.Unlock()
	if refused := j.roomForDetached(); refused != nil {
		return api.Detached{}, api.Exit{}, refused
	}
	defer v.m.refill()
	d, exit := v.m.detach(j, p, v.name)
	if exit.Code != 0 {
		return api.Detached{}, exit, nil
	}
	return *d.describe(), exit, nil
}

// roomForDetached forgets the detached command that was the first to begin of those
// that have ended, where there are too many.
func (j *liveJail) roomForDetached() *api.Error {
	j.mu.Lock()
	if len(j.detached) < maxDetached {
		j.mu.Unlock()
		return nil
	}
	i := slices.IndexFunc(j.detached, func(d *detached) bool { return !d.running() })
	if i < 0 {
		j.mu.Unlock()
		return api.Refuse(http.StatusTooManyRequests, "too_many_detached", "jail %s runs %d detached commands, which is the limit", j.id, maxDetached).
			Hint("omnijailctl kill %s ends all of its commands", j.id)
	}
	forgotten := j.detached[i]
	j.detached = slices.Delete(j.detached, i, i+1)
	j.mu.Unlock()
	if err := forgotten.keeper.Close(); err != nil { // it waits for a process that is its user's
		forgotten.x.m.cfg.Log.Error("background command: its keeper stays", "jail", j.id, "err", err)
	}
	return nil
}
