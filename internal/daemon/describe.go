package daemon

import (
	"slices"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/policy"
)

// describe says everything about a jail that its owner may know, and that is all
// but values.
func (j *liveJail) describe() api.Jail {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := api.Jail{
		ID: j.id.String(), UID: j.owner, Policy: j.spec().Policy.Name, Origin: j.spec().Policy.Origin,
		Backend: j.backend, Started: j.started, Bindings: describeBindings(j.spec().Bindings), Notes: slices.Clone(j.notes), Exposed: slices.Clone(j.exposed),
		Session: j.session, State: api.StateUp, Commands: len(j.commands), Cwd: j.spec().View.Cwd,
		Limits: policy.LimitLines(j.spec().Limits), Publish: j.spec().Publish, NodePorts: j.spec().NodePorts,
	}
	if j.cutBy != "" {
		out.State, out.Reason = api.StateDegraded, j.cutText
	}
	for _, d := range j.detached {
		if d.name == firstDetached {
			out.Detached = d.describe()
		} else {
			out.Background = append(out.Background, *d.describe())
		}
	}
	if j.session {
		out.Expires = j.started.Add(j.spec().MaxAge)
	}
	for _, w := range j.spec().Weaken {
		out.Weaken = append(out.Weaken, string(w))
	}
	for _, g := range j.spec().Needs {
		out.Guarantees = append(out.Guarantees, string(g))
	}
	for _, r := range j.spec().Rules {
		out.Rules = append(out.Rules, r.String())
	}
	return out
}

func (d *detached) describe() *api.Detached {
	out := &api.Detached{Name: d.name, Argv0: string(d.x.plan.Argv[0]), TTY: d.x.plan.TTY != nil, Running: true}
	select {
	case <-d.over:
		out.Running, out.Exit = false, &d.exit
	default:
	}
	return out
}

func describeBindings(bs []creds.Binding) (out []api.Binding) {
	for _, b := range bs {
		d := api.Binding{Name: b.Name}
		for _, t := range b.Targets {
			d.Hosts = append(d.Hosts, t.Authority.Host())
		}
		out = append(out, d)
	}
	return out
}
