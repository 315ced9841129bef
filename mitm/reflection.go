package mitm

import (
	"context"
	"fmt"
	"net/http"

	"github.com/omnijail/omnijail/internal/audit"
)

// Reflection says what becomes of a reply that holds a secret.
type Reflection string

// The answers. Each reflection is recorded, and several stop the jail's network
// whatever the answer: a mask tells who guesses that the guess was right.
const (
	ReflectionMask   Reflection = "mask"   // the secret is replaced by as many asterisks; the default
	ReflectionAbort  Reflection = "abort"  // the reply is refused, or broken off where it has begun
	ReflectionFreeze Reflection = "freeze" // the first one stops the jail's network
)

// Masks reports whether secrets are replaced in replies. Values shorter than
// creds.MinMasked must not be used then.
func (r Reflection) Masks() bool { return r == "" || r == ReflectionMask }

func (r Reflection) check() error {
	if r.Masks() || r == ReflectionAbort || r == ReflectionFreeze {
		return nil
	}
	return fmt.Errorf("mitm: on reflection %.16q: not mask, abort or freeze", string(r))
}

// What is borne before the jail's network is stopped.
const (
	maxReflections = 3  // replies with a secret, the last of which is not passed on
	maxHits        = 16 // secrets in one reply
)

// reflected records that a reply held secrets and says whether it can go on masked.
// One reply counts once, however many it holds, up to maxHits.
func (x *exchange) reflected(ctx context.Context, hits int) error {
	if hits == 0 {
		return nil
	}
	p, again := x.s.p, x.hits > 0
	x.hits += hits
	if again && x.hits <= maxHits {
		return nil
	}
	freeze := x.hits > maxHits || x.g.OnReflection == ReflectionFreeze
	if !again {
		freeze = p.mirrored.Add(1) >= maxReflections || freeze
	}
	e := x.base()
	e.Kind, e.Decision, e.Code, e.Rule = audit.KindReflection, audit.Allow, audit.CodeReflection, x.verdict.Index
	if freeze || x.g.OnReflection == ReflectionAbort {
		e.Decision = audit.Deny
	}
	if _, err := p.audit.Open(ctx, e); err != nil {
		return refuseNoAudit()
	}
	switch {
	case freeze:
		p.Freeze()
		return refuseFrozen()
	case e.Decision == audit.Deny:
		return refuse(http.StatusBadGateway, audit.CodeReflection, "the reply of "+x.s.authority.Host()+" holds a secret")
	}
	return nil
}

// reflectedFrame is reflected for a piece of a WebSocket. Nothing says where a reply
// ends there, so each piece is one.
func (x *exchange) reflectedFrame(ctx context.Context, hits int) error {
	if hits == 0 {
		return nil
	}
	x.hits = 0
	return x.reflected(ctx, hits)
}
