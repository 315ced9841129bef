package egressd

import (
	"slices"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// replace asks for another policy.
func (r *rig) replace(generation uint32, spec wire.Spec) wire.Answer {
	r.t.Helper()
	return r.ask(wire.Replace{Seq: 100 + generation, Jail: testJail, Generation: generation, Spec: r.sealed(spec)})
}

// two is a Spec with the binding of bound and another.
func two(t *testing.T, numbers ...uint16) wire.Spec {
	t.Helper()
	spec := bound(t, nil)
	other := spec.Bindings[0]
	other.Name, other.Methods, other.Env = "other", []string{"POST"}, []creds.EnvVar{{Name: "OTHER"}}
	spec.Bindings[0].Methods = []string{"GET"}
	spec.Bindings, spec.Keys, spec.Numbers = append(spec.Bindings, other), nil, numbers
	return spec
}

// TestReplaceKeepsWhatStays holds which placeholders and values a policy has of the
// one before it, by the numbers that the daemon gives.
func TestReplaceKeepsWhatStays(t *testing.T) {
	r := newRig(t)
	r.hello()
	first := r.attach(two(t))
	r.send(wire.Secret{Jail: testJail, Binding: 0, Generation: 1, By: wire.ByMemfd, Value: memfd(t, "a value that is long enough", allSeals)})
	if o := r.receive().(wire.Outcome); o.Result != wire.Got {
		t.Fatal(o)
	}
	alone := two(t)
	alone.Bindings = alone.Bindings[:1]
	if a := r.replace(1, alone); a.Status != wire.OK || len(a.Env) != 1 || a.Env["TOKEN"] != first.Env["TOKEN"] {
		t.Fatalf("%+v", a)
	}
	r.send(wire.Secret{Jail: testJail, Binding: 1, Generation: 1, By: wire.ByNone})
	if o := r.receive().(wire.Outcome); o.Result != wire.Unknown {
		t.Errorf("a value for a binding that is gone: %+v", o)
	}
	// The second binding comes back: it is another one, with a number of its own.
	for _, used := range [][]uint16{{0, 1}, {0, 0}, {2, 0}, {0, wire.MaxNumbers}, {0}} {
		if a := r.replace(2, two(t, used...)); a.Status == wire.OK {
			t.Errorf("numbers %v pass", used)
		}
	}
	a := r.replace(2, two(t, 0, 2))
	if a.Status != wire.OK || a.Env["TOKEN"] != first.Env["TOKEN"] || a.Env["OTHER"] == "" || a.Env["OTHER"] == first.Env["OTHER"] {
		t.Fatalf("%+v", a)
	}
	r.send(wire.Secret{Jail: testJail, Binding: 2, Generation: 1, By: wire.ByMemfd, Value: memfd(t, "another one, long enough too", allSeals)})
	if o := r.receive().(wire.Outcome); o.Result != wire.Got || o.Binding != 2 {
		t.Errorf("%+v", o)
	}
	// Another source is another value, under the placeholder that the command has.
	elsewhere := two(t, 3, 2)
	elsewhere.Bindings[0].Sources = []creds.Source{{Kind: creds.SourceCommand, Argv: []string{"elsewhere"}}}
	if a := r.replace(3, elsewhere); a.Status != wire.OK || a.Env["TOKEN"] != first.Env["TOKEN"] || slices.Contains(a.Cached, 3) {
		t.Errorf("%+v", a)
	}
}
