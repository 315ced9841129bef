package egressd

import (
	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/mitm"
)

// inForce is the policy of a jail that is in force. Nothing in it changes; another
// takes its place as a whole.
type inForce struct {
	spec   wire.Spec
	rules  *egress.Rules
	listed map[string]bool // names that a rule has in full: of the others a jail can make up any number
	table  *creds.Table
}

// newPolicy makes a policy of spec. Where it follows another, bindings that stay
// have their placeholders of it, and values by their number.
func newPolicy(spec wire.Spec, former *inForce) (*inForce, wire.Status) {
	n := &inForce{spec: spec, listed: map[string]bool{}}
	if len(spec.Keys) > len(spec.Bindings) || len(spec.Numbers) > 0 && len(spec.Numbers) != len(spec.Bindings) {
		return nil, wire.BadConfig
	}
	var err error
	if n.rules, err = egress.Compile(spec.Rules); err != nil {
		return nil, wire.BadRules
	}
	for _, r := range spec.Rules {
		n.listed[r.Host] = true
	}
	if former == nil {
		n.table, err = creds.NewTable(spec.Bindings)
	} else {
		n.table, err = former.table.Next(spec.Bindings, former.kept(spec))
	}
	if err != nil {
		return nil, wire.BadBindings
	}
	return n, wire.OK
}

// kept says which bindings of spec have the value of which of n's.
func (n *inForce) kept(spec wire.Spec) map[int]int {
	at := map[uint16]int{}
	for i := range n.spec.Bindings {
		at[n.spec.Number(i)] = i
	}
	values := map[int]int{}
	for i := range spec.Bindings {
		if was, ok := at[spec.Number(i)]; ok {
			values[i] = was
		}
	}
	return values
}

// policy is what the proxy is told of the jail's policy.
func (p *process) policy(j *jail, generation uint32, n *inForce) mitm.Policy {
	return mitm.Policy{
		Generation: generation, Rules: n.rules, Table: n.table, Dial: p.dialer(j, n.spec), Stale: p.stale(j, n),
		GitHosts: n.spec.GitHosts, BodyDeny: n.spec.BodyDeny, Freeze: n.spec.Freeze,
		OnReflection: mitm.Reflection(n.spec.OnReflection), OnMinted: mitm.Minting(n.spec.OnMinted),
	}
}

// replace puts another policy in force, or leaves everything as it is.
func (p *process) replace(m wire.Replace) error {
	defer closeFiles(m.Spec)
	j, ok := p.jails[m.Jail]
	if !ok {
		return p.answer(m.Seq, wire.UnknownJail)
	}
	var spec wire.Spec
	if err := wire.Unseal(m.Spec, &spec); err != nil {
		return p.answer(m.Seq, wire.BadConfig)
	}
	former := j.now.Load()
	next, status := newPolicy(spec, former)
	if status != wire.OK {
		return p.answer(m.Seq, status)
	}
	fresh, ok := j.values(next, former)
	if !ok {
		return p.answer(m.Seq, wire.BadBindings)
	}
	if j.proxy.Replace(p.policy(j, m.Generation, next)) != nil {
		return p.answer(m.Seq, wire.BadConfig)
	}
	j.now.Store(next)
	j.forget(next)
	j.take(fresh)
	return p.conn.SendMessage(wire.Answer{Seq: m.Seq, Env: next.table.Placeholders(), Cached: p.fromCache(j, fresh)})
}

// values returns the values of a policy that the one before did not have. A number
// that the jail has had is good only for the binding that had it.
func (j *jail) values(next, former *inForce) (fresh []*credential, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	kept := map[int]int{}
	if former != nil {
		kept = former.kept(next.spec)
	}
	seen := map[uint16]bool{}
	for i, b := range next.spec.Bindings {
		n := next.spec.Number(i)
		was, stays := kept[i]
		switch {
		case seen[n], n >= wire.MaxNumbers, stays && !next.table.Keeps(former.table, was), !stays && j.had[n]:
			return nil, false
		case !stays:
			fresh = append(fresh, &credential{number: n, binding: b, key: key(next.spec, i), table: next.table, row: i})
		}
		seen[n] = true
	}
	return fresh, true
}

// take lets values come.
func (j *jail) take(fresh []*credential) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range fresh {
		j.had[c.number] = true
		j.credentials[c.number] = c
	}
}

// forget drops the values of bindings that are gone.
func (j *jail) forget(next *inForce) {
	j.mu.Lock()
	defer j.mu.Unlock()
	stays := map[uint16]bool{}
	for i := range next.spec.Bindings {
		stays[next.spec.Number(i)] = true
	}
	for n, c := range j.credentials {
		if !stays[n] {
			c.stop()
			delete(j.credentials, n)
		}
	}
}
