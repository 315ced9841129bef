package daemon

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/jail"
)

// inForce is the policy of a live jail that is in force. Another takes its place as
// a whole.
type inForce struct {
	generation   uint32 // 0 for the one that it was made with
	plan         *Plan
	secrets      []*secret         // per binding
	placeholders map[string]string // by variable
	dropped      []int             // optional bindings without a value
}

// maxSpecs is how many former policies of a jail are kept, for the records of what
// began under them.
const maxSpecs = 8

// errTooManyValues refuses a policy: the jail has had as many as it can.
var errTooManyValues = errors.New("this jail has had too many credentials: make a new one")

// spec is the Spec in force.
func (j *liveJail) spec() *jail.Spec { return j.policy.Load().plan.Spec }

// plan is the one in force: it made the jail, or changed its policy.
func (j *liveJail) plan() *Plan { return j.policy.Load().plan }

// secret returns the credential of a number, or nil where there is none.
func (j *liveJail) secret(number uint16) *secret {
	j.mu.Lock()
	defer j.mu.Unlock()
	if int(number) >= len(j.secrets) {
		return nil
	}
	return j.secrets[number]
}

// next is the policy of p, to take the place of the one in force. A binding that
// stays keeps its value if it has one, or waits for it.
func (j *liveJail) next(p *Plan) (*inForce, error) {
	n := &inForce{plan: p}
	former := j.policy.Load()
	var had []*secret
	if former != nil {
		n.generation = former.generation + 1
	}
	if former != nil && former.plan.Spec.OnReflection == p.Spec.OnReflection { // which says how short a value may be
		had = former.secrets
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	count := len(j.secrets)
	for _, b := range p.Spec.Bindings {
		i := slices.IndexFunc(had, func(s *secret) bool { return b.SameValue(s.binding) && s.good() })
		if i >= 0 {
			n.secrets = append(n.secrets, had[i])
			continue
		}
		if count == wire.MaxNumbers {
			return nil, errTooManyValues
		}
		n.secrets = append(n.secrets, &secret{number: uint16(count), binding: b, plan: p})
		count++
	}
	return n, nil
}

// admit lets the egress process speak of the values of n, and refer to its rules.
func (j *liveJail) admit(n *inForce) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range n.secrets {
		if int(s.number) >= len(j.secrets) {
			j.secrets = append(j.secrets, s)
		}
	}
	j.specs[n.generation] = n.plan.Spec
	if n.generation >= maxSpecs {
		delete(j.specs, n.generation-maxSpecs)
	}
}

// specOf is the Spec of a generation; nil for one that began so long ago that it
// was forgotten.
func (j *liveJail) specOf(generation uint32) (*jail.Spec, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if spec := j.specs[generation]; spec != nil {
		return spec, nil
	}
	if generation > j.policy.Load().generation {
		return nil, fmt.Errorf("%w: a policy that the jail does not have", wire.ErrProtocol)
	}
	return nil, nil
}

// fresh are the values of n that former does not have.
func (n *inForce) fresh(former *inForce) (out []*secret) {
	for _, s := range n.secrets {
		if !slices.Contains(former.secrets, s) {
			out = append(out, s)
		}
	}
	return out
}

// drop takes bindings without a value out of what commands are given.
func (j *liveJail) drop(former *inForce, dropped []*secret) {
	n := *former
	n.dropped, n.placeholders = slices.Clone(former.dropped), maps.Clone(former.placeholders)
	defer j.policy.Store(&n)
	for _, s := range dropped {
		n.dropped = append(n.dropped, slices.Index(n.secrets, s))
		for _, v := range s.binding.Env {
			delete(n.placeholders, v.Name)
		}
	}
}

// good reports whether a value is there or on its way.
func (s *secret) good() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got || s.outcome != nil
}

// atHand notes that the egress process has a value that nobody sent: the next one
// is its second.
func (s *secret) atHand() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gen, s.got = 1, true
}

// left reports whether no policy in force has the credential any more.
func (s *secret) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// keyOf is the egress process of a jail. A policy that may hold what is the
// operator's has processes of its own; all others hold what is their caller's.
func keyOf(owner uint32, p *Plan) egressKey {
	key := egressKey{Caller: owner, RunAs: p.User.UID, Policy: owner}
	if p.Spec.Closed != nil {
		key.Policy = p.Spec.Policy.OwnerUID
	}
	return key
}
