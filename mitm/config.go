package mitm

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/fair"
)

// Config is what one jail's Proxy is made of. Fields are required unless their
// comment says otherwise.
type Config struct {
	Jail  string  // the jail's ID, for messages only
	Names Names   // which name a synthetic address stands for
	CA    *CA     // signs the leaves that this jail trusts
	Audit Auditor // is asked before anything is dialled

	// Admit says whether the jail may name host, which some rule allows, to the
	// proxy without having looked it up, and why not; nil: never.
	Admit func(host string) error

	Share *fair.Share // of the process's time; nil: as much as there is

	DNS func(net.Conn) // serves a TCP connection to port 53 and closes it; nil: closed

	Policy // the first one in force
}

// Policy is what a jail may do on the network. A running jail can be given another.
type Policy struct {
	Generation uint32        // 0 for the first; each that takes its place has a higher one
	Rules      *egress.Rules // what may leave
	Table      *creds.Table  // nil: no credentials; placeholders are refused all the same
	Dial       *Dialer       // reaches the outside; may be shared between jails

	Stale    func(binding int) // the bound host answered 401 to this binding; nil: not told
	GitHosts []string          // hosts whose git@ remotes the jail rewrites to https; words of the SSH refusal
	BodyDeny bool              // refuse a placeholder in a body instead of recording it
	Freeze   bool              // the first misused placeholder stops the jail's egress

	OnReflection Reflection // what becomes of a reply that holds a secret; empty: it is masked
	OnMinted     Minting    // what becomes of a reply that gives a token; empty: it passes
}

// Names maps a synthetic address to the name that the jail looked up.
type Names interface {
	Name(netip.Addr) (string, bool)
}

// Auditor records what the Proxy decides. It is called from many goroutines.
type Auditor interface {
	// Open records e and returns its ID once the record is safe. On an error
	// the request is refused.
	Open(ctx context.Context, e Event) (id string, err error)
	// Done records how the request that Open called id ended.
	Done(id string, e Event)
}

// Event is one decision, or the end of what it allowed. It never holds a query,
// a header's value or a body.
type Event struct {
	Generation uint32 // of the Policy that Rule, Nearest and Binding are numbers of

	Kind      audit.Kind
	Authority egress.Authority
	Name      string // when there is no authority: the address as text
	Method    string
	Path      string
	Rule      int // index of the deciding rule, -1 for none
	Nearest   int // index of the rule that came closest, -1 for none
	Binding   int // index of the binding that decorates, -1 for none
	Decision  audit.Decision
	Code      audit.Code
	Status    int        // of the reply, or the number of a client's alert; 0 where there was none
	Address   netip.Addr // that the guard refused to dial
	BytesIn   uint64     // body bytes towards the jail
	BytesOut  uint64     // body bytes from the jail
	Millis    uint32     // from the decision to the end
}

// check refuses a Config with a required part missing: a Proxy without a rule
// set or an auditor would be an open door.
func (c Config) check() error {
	switch {
	case c.Names == nil:
		return errors.New("mitm: no name table given")
	case c.CA == nil:
		return errors.New("mitm: no CA given")
	case c.Audit == nil:
		return errors.New("mitm: no auditor given")
	}
	return c.Policy.check()
}

func (p Policy) check() error {
	switch {
	case p.Rules == nil:
		return errors.New("mitm: no rules given")
	case p.Dial == nil:
		return errors.New("mitm: no dialer given")
	}
	return errors.Join(p.OnReflection.check(), p.OnMinted.check())
}
