// Package audit is the journal of what jails did: events, the hash-chained file
// they are appended to, and its reader.
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
	KindExec       Kind = "exec"       // a command started or ended
	KindJail       Kind = "jail"       // a jail made or gone
	KindCredential Kind = "credential" // a source resolved or failed
	KindDenial     Kind = "denial"     // a refusal outside the network: file, limit, access
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
// secret in one. Seq, Time, ID, Prev and Hash are the journal's own.
type Record struct {
	Seq        uint64    `json:"seq"`
	Time       time.Time `json:"time"`
	Kind       Kind      `json:"kind"`
	Jail       string    `json:"jail,omitempty"`
	UID        uint32    `json:"uid"`
	ID         string    `json:"id,omitempty"` // what why takes; 8 hex digits
	Policy     string    `json:"policy,omitempty"`
	Authority  string    `json:"authority,omitempty"`
	Method     string    `json:"method,omitempty"`
	Path       string    `json:"path,omitempty"`
	Rule       string    `json:"rule,omitempty"`   // text of the deciding or nearest rule
	Origin     string    `json:"origin,omitempty"` // its file and line
	Decision   Decision  `json:"decision,omitempty"`
	Code       string    `json:"code,omitempty"` // see mitm's codes
	Reason     string    `json:"reason,omitempty"`
	Fix        string    `json:"fix,omitempty"`
	Credential string    `json:"credential,omitempty"` // name of the binding
	Status     int       `json:"status,omitempty"`
	BytesIn    uint64    `json:"bytes_in,omitempty"`
	BytesOut   uint64    `json:"bytes_out,omitempty"`
	Millis     uint32    `json:"ms,omitempty"`
	Argv0      string    `json:"argv0,omitempty"`
	Exit       *int      `json:"exit,omitempty"`
	By         string    `json:"by,omitempty"` // "egress" when the egress process said so
	Prev       string    `json:"prev"`
	Hash       string    `json:"hash"`
}
