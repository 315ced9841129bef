package wire

import (
	"fmt"
	"maps"
	"slices"

	"github.com/omnijail/omnijail/creds"
)

// Status says how a request of the daemon ended.
type Status uint8

// The statuses. A status has no text from the egress process: what a person
// reads about it is written by the daemon.
const (
	OK          Status = iota
	BadConfig          // the Config or Spec does not decode
	BadRules           // a rule does not compile
	BadBindings        // a binding or a pair of them is refused
	BadSocket          // a descriptor is not the socket it should be
	NoCA               // the jail's CA could not be made
	UnknownJail        // no such jail here
	DoubleJail         // the jail is here already
	NotReady           // no Hello came yet
	BadLogin           // the proxy's login is not one line USER:PASSWORD
	statusLimit        // the first number that is none
)

func (s Status) String() string {
	if s >= statusLimit {
		return fmt.Sprintf("status(%d)", uint8(s))
	}
	return [...]string{"ok", "bad config", "bad rules", "bad bindings", "bad socket", "no ca",
		"unknown jail", "jail attached twice", "not ready",
		"upstream.proxy_login does not hold one line USER:PASSWORD"}[s]
}

// Caps of an Answer.
const (
	maxEnv      = 128
	maxEnvName  = 128
	maxEnvValue = 512
	maxCA       = 4 << 10
	maxBindings = 256
)

// Answer is the reply to a Hello, Attach, Detach, Freeze or Replace. The last three
// fields belong to an Attach; a Replace has no certificate.
type Answer struct {
	Seq    uint32
	Status Status
	Env    map[string]string // placeholders by variable
	CADER  []byte            // the jail's CA certificate, opaque
	Cached []uint16          // numbers of values that were still at hand: no Secret is needed
}

// Placeholders returns the variables of the answer that the bindings ask for.
// One that they do not ask for is an error: an egress process does not choose
// the environment of a command.
func (a Answer) Placeholders(bs []creds.Binding) (map[string]string, error) {
	asked := map[string]bool{}
	for _, b := range bs {
		for _, v := range b.Env {
			asked[v.Name] = true
		}
	}
	for name, value := range a.Env {
		if !asked[name] {
			return nil, fmt.Errorf("%w: a variable that no binding names", ErrProtocol)
		}
		for _, c := range []byte(value) {
			if c < 0x21 || c > 0x7e {
				return nil, fmt.Errorf("%w: a placeholder of %s that is not printable", ErrProtocol, name)
			}
		}
	}
	return maps.Clone(a.Env), nil
}

func (a Answer) encode() (Frame, error) {
	var b fields
	b.u8(uint8(a.Status))
	b.u8(uint8(len(a.Env)))
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		if len(name) > maxEnvName || len(a.Env[name]) > maxEnvValue {
			return Frame{}, fmt.Errorf("placeholder %.40q is longer than %d bytes", name, maxEnvValue)
		}
		b.text(name, maxEnvName)
		b.text(a.Env[name], maxEnvValue)
	}
	if len(a.Env) > maxEnv || len(a.CADER) > maxCA || len(a.Cached) > maxBindings {
		return Frame{}, fmt.Errorf("answer with %d placeholders, %d bytes of certificate: too large", len(a.Env), len(a.CADER))
	}
	b.text(string(a.CADER), maxCA)
	b.u16(uint16(len(a.Cached)))
	for _, i := range a.Cached {
		b.u16(i)
	}
	return Frame{Kind: KindAnswer, Seq: a.Seq, Body: b}, nil
}

func decodeAnswer(f Frame) (Answer, error) {
	r := reader{b: f.Body}
	a := Answer{Seq: f.Seq, Status: Status(r.u8())}
	if a.Status >= statusLimit {
		r.fail("unknown status %d", uint8(a.Status))
	}
	n := int(r.u8())
	if n > maxEnv {
		r.fail("%d placeholders", n)
	}
	for range n {
		if r.err != nil {
			break
		}
		name, value := r.text(maxEnvName), r.text(maxEnvValue)
		if a.Env == nil {
			a.Env = map[string]string{}
		}
		if _, twice := a.Env[name]; twice || name == "" {
			r.fail("placeholder without a name of its own")
		}
		a.Env[name] = value
	}
	if ca := r.text(maxCA); ca != "" {
		a.CADER = []byte(ca)
	}
	n = int(r.u16())
	if n > maxBindings {
		r.fail("%d cached bindings", n)
	}
	for range n {
		if r.err != nil {
			break
		}
		a.Cached = append(a.Cached, r.u16())
	}
	return a, r.end()
}
