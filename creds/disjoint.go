package creds

import (
	"fmt"

	"github.com/omnijail/omnijail/internal/egress"
)

// CheckAll checks each binding and that no two of them disagree: names and
// variables are unique, and two bindings share a host only where their ports,
// paths or methods are disjoint, so that no request has two credentials.
func CheckAll(bs []Binding) error {
	if len(bs) > maxBindings {
		return fmt.Errorf("credentials: %d, more than %d", len(bs), maxBindings)
	}
	env := map[string]string{}
	for i, b := range bs {
		if err := b.Check(); err != nil {
			return fmt.Errorf("credential %.80q: %w", b.Name, err)
		}
		for _, e := range b.Env {
			if other, ok := env[e.Name]; ok {
				return fmt.Errorf("credential %q: env %s is set by %q too", b.Name, e.Name, other)
			}
			env[e.Name] = b.Name
		}
		for _, other := range bs[:i] {
			if err := checkPair(other, b); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPair(a, b Binding) error {
	if a.Name == b.Name {
		return fmt.Errorf("credential %q: there are two of this name%s", a.Name, origins(a, b))
	}
	if t, ok := Overlap(a, b); ok {
		return fmt.Errorf("credentials %q and %q both claim %s: make their paths, ports or methods disjoint%s",
			a.Name, b.Name, t, origins(a, b))
	}
	return nil
}

func origins(a, b Binding) string {
	if a.Origin == "" || b.Origin == "" {
		return ""
	}
	return fmt.Sprintf(" (%s, %s)", a.Origin, b.Origin)
}

// Overlap reports whether some request lies inside both bindings, and the host
// where it does.
func Overlap(a, b Binding) (egress.Authority, bool) {
	if !egress.MethodsMeet(a.Methods, b.Methods) {
		return egress.Authority{}, false
	}
	for _, s := range a.Targets {
		for _, t := range b.Targets {
			if s.Authority == t.Authority && egress.GlobsMeet(s.glob(), t.glob()) {
				return s.Authority, true
			}
		}
	}
	return egress.Authority{}, false
}
