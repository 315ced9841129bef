package daemon

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/peercred"
)

// liveJail is one jail of the table. Its owner is the uid that asked for it:
// nobody else, group members included, sees or commands it.
type liveJail struct {
	id       jail.ID
	owner    uint32
	caller   peercred.Caller
	confined bool // the caller is, more than the daemon
	policy   atomic.Pointer[inForce]
	session  bool // takes commands until it is ended; else it ends with its one
	env      environment
	backend  string
	started  time.Time
	proc     atomic.Pointer[egressProc]
	under    atomic.Pointer[config.Config] // when proc was told of the policy; nil before
	audience audience
	ctx      context.Context // ends with the jail
	metrics  *metrics
	sources  *sources
	gone     chan struct{}       // closed when nothing of the jail is left
	end      func(reason string) // ends the command; first call counts

	changing  sync.Mutex   // held by the one who changes its policy
	detaching sync.Mutex   // held by the one who starts a command without a client
	arming    sync.RWMutex // of the network; read while a command is being started in it

	mu       sync.Mutex
	secrets  []*secret             // by number; never fewer
	specs    map[uint32]*jail.Spec // that a record may refer to, by generation
	ready    bool                  // it has been made, so its policy can be changed
	notes    []string
	cutBy    string
	cutText  string
	commands map[*execution]bool // that run
	joined   int                 // commands that were let in, to name their cgroups
	made     bool                // all of it is there
	over     bool                // no further command is let in
	inside   sync.WaitGroup      // the commands that were let in
	detached []*detached         // commands without a client, in the order of their starts
	exposed  []string            // what the last command needed and no policy granted
}

// secret is what the daemon knows of one credential: everything but the value.
type secret struct {
	number  uint16 // by which the egress process knows it
	binding creds.Binding
	plan    *Plan // that brought it: whose sources, in which environment

	mu      sync.Mutex
	got     bool // the egress process has a value
	gone    bool // no policy in force has the binding
	gen     uint64
	asked   time.Time
	waiting bool              // a refresh of this generation is on its way
	outcome chan wire.Outcome // of the generation under way; nil when none is
}

// due says how long the refresh of a generation has to wait, and whether it is to
// be done at all. It is for the first that asks: every further one would be a
// goroutine of root's, and in the end a command of the user's, for the price of
// one packet.
func (s *secret) due(generation uint64) (wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || generation == 0 || generation != s.gen || s.outcome != nil || s.waiting {
		return 0, false
	}
	s.waiting = true
	return refreshInterval - time.Since(s.asked), true
}

// cut says that the jail has no network any more. A one-shot's command ends: it
// would only fail in ways that nobody could explain. A session stays, degraded.
func (j *liveJail) cut(code audit.Code, reason string) {
	j.mu.Lock()
	first := j.cutBy == ""
	j.cutBy, j.cutText = string(code), reason
	j.mu.Unlock()
	switch {
	case first && j.session:
		j.audience.note(reason, degradedHint)
	case first:
		j.end(reason)
	}
}

// degradedHint is what to do about a session without a network.
const degradedHint = "omnijailctl rearm ID gives it another, for commands that start afterwards: what runs trusts no other CA"

// saw passes a written record on to whoever watches the exec.
func (j *liveJail) saw(r audit.Record) {
	j.metrics.saw(r)
	if r.Decision != audit.Deny {
		return
	}
	kind := "request"
	if r.Code == string(audit.CodePlaceholder) || r.Code == string(audit.CodeForeign) {
		kind = "credential"
	}
	d := &api.Denied{ID: r.ID, Kind: kind, What: what(r) + ": " + r.Reason, Fix: r.Fix, Text: sentence(r)}
	if r.Rule != "" {
		d.Rule = r.Rule + " (" + r.Origin + ")"
	}
	j.audience.send(api.Event{Denied: d})
}

// credentialDenied is the event of a source that gave no value.
func credentialDenied(r audit.Record) api.Event {
	return api.Event{Denied: &api.Denied{ID: r.ID, Kind: "credential", What: r.Reason, Text: r.Reason, Stderr: r.Stderr}}
}

// outcome takes what became of a credential's value. A number that the jail does
// not have, or a generation that nobody asked for, ends the egress process.
func (j *liveJail) outcome(o wire.Outcome) error {
	s := j.secret(o.Binding)
	if s == nil {
		return fmt.Errorf("%w: a binding that the jail does not have", wire.ErrProtocol)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcome == nil || o.Generation != s.gen {
		return fmt.Errorf("%w: an outcome of nothing", wire.ErrProtocol)
	}
	s.outcome <- o
	s.outcome = nil
	s.got = s.got || o.Result == wire.Got
	return nil
}
