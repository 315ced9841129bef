// Package audit is the journal of what jails did.
//
// A Journal appends Records to a file of JSON lines, several per write. Each
// line holds the hash of the line before and its own, so that a line which was
// changed, removed or put in later is found by Verify. What Append returned
// without an error has been handed to the kernel: callers let a request out only
// after that.
//
// The space is budgeted. Files grow to Options.Rotate and are then set aside;
// only files whose last record is older than Options.Retain are ever deleted. A
// user may hold a quarter of the space, and a reserve belongs to root's and to
// credential records: whoever is over a limit is refused, never overwritten.
// Identical denials in quick succession are counted instead of repeated.
//
// Everything foreign that is stored or printed goes through Escape first.
package audit

import "time"

// Kind is what a record is about.
type Kind string

// The kinds.
const (
	KindRequest    Kind = "request"    // one HTTP request, at its decision
	KindDone       Kind = "done"       // the same request at its end: status and bytes
	KindDNS        Kind = "dns"        // a name that no rule could allow
	KindConnect    Kind = "connect"    // a connection that is not HTTP
	KindPacket     Kind = "packet"     // what the kernel refused: neither TCP to us nor DNS
	KindExec       Kind = "exec"       // a command started or ended
	KindJail       Kind = "jail"       // a jail made or gone
	KindCredential Kind = "credential" // a source resolved or failed
	KindDenial     Kind = "denial"     // a refusal outside the network: file, limit, access
	KindReflection Kind = "reflection" // a reply held a secret, which was masked or refused
	KindJournal    Kind = "journal"    // the journal about itself: a repaired end
	KindPolicy     Kind = "policy"     // a live jail was given another policy
)

// Decision is allow or deny.
type Decision string

// The decisions.
const (
	Allow Decision = "allow"
	Deny  Decision = "deny"
)

// Record is one line of the journal. Strings from a jail are capped and escaped
// before they are stored; there is never a query string, header value, body or
// secret in one. Seq, Time, ID, Count, First, Prev and Hash are the journal's
// own; a KindDone record alone comes with the ID of the request that it ends.
type Record struct {
	Seq        uint64    `json:"seq"`
	Time       time.Time `json:"time"`
	Kind       Kind      `json:"kind"`
	Jail       string    `json:"jail,omitempty"`
	UID        uint32    `json:"uid"`
	ID         string    `json:"id,omitempty"` // what why takes; 8 hex digits
	Policy     string    `json:"policy,omitempty"`
	Generation uint32    `json:"generation,omitempty"` // how often the jail's policy had been changed
	Digest     string    `json:"digest,omitempty"`     // of the policy, where it is the subject
	Authority  string    `json:"authority,omitempty"`
	Method     string    `json:"method,omitempty"`
	Path       string    `json:"path,omitempty"`
	Rule       string    `json:"rule,omitempty"`   // text of the deciding or nearest rule
	Origin     string    `json:"origin,omitempty"` // its file and line
	Decision   Decision  `json:"decision,omitempty"`
	Code       string    `json:"code,omitempty"` // a Code
	Reason     string    `json:"reason,omitempty"`
	Fix        string    `json:"fix,omitempty"`
	Stderr     []string  `json:"stderr,omitempty"`     // lines of a credential command that gave no value
	Grant      string    `json:"grant,omitempty"`      // of a refused file: the path to grant, where one may be proposed
	Credential string    `json:"credential,omitempty"` // name of the binding
	Status     int       `json:"status,omitempty"`
	BytesIn    uint64    `json:"bytes_in,omitempty"`
	BytesOut   uint64    `json:"bytes_out,omitempty"`
	Millis     uint32    `json:"ms,omitempty"`
	Argv0      string    `json:"argv0,omitempty"`
	Exit       *int      `json:"exit,omitempty"`
	By         string    `json:"by,omitempty"`    // "egress" when the egress process said so
	Count      uint64    `json:"count,omitempty"` // this many identical denials since First, in one line
	First      time.Time `json:"first,omitzero"`
	Prev       string    `json:"prev"`
	Hash       string    `json:"hash"`
}
