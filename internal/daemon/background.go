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
	defer j.mu.Unlock()
	if len(j.detached) < maxDetached {
		return nil
	}
	i := slices.IndexFunc(j.detached, func(d *detached) bool { return !d.running() })
	if i < 0 {
		return api.Refuse(http.StatusTooManyRequests, "too_many_detached", "jail %s runs %d detached commands, which is the limit", j.id, maxDetached).
			Hint("omnijailctl kill %s ends all of its commands", j.id)
	}
	j.detached[i].pump.Close()
	j.detached = slices.Delete(j.detached, i, i+1)
	return nil
}
