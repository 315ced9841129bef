// Package creds holds what authenticates: bindings, which name a credential and
// where it may go; placeholders, which are worthless outside; and the table that
// decides, request by request, what is attached. Bindings hold names, tables
// hold values. Only the egress process ever has a table.
package creds

import (
	"time"

	"github.com/omnijail/omnijail/internal/egress"
)

// Type says how a credential looks on the wire.
type Type string

// The types of this build.
const (
	Bearer Type = "https_bearer"
	Basic  Type = "https_basic"
	Header Type = "https_header"
	Git    Type = "git_https"
	GH     Type = "gh_basic"
)

// Binding says which credential goes to which requests. It holds no value.
type Binding struct {
	Name      string        `json:"name"`
	Type      Type          `json:"type"`
	Targets   []Target      `json:"targets"`
	Methods   []string      `json:"methods,omitempty"` // nil: any but TRACE and OPTIONS
	Env       []EnvVar      `json:"env,omitempty"`     // placeholders of gating clients
	Username  string        `json:"username,omitempty"`
	Header    string        `json:"header,omitempty"`
	Prefix    string        `json:"prefix,omitempty"`
	Foreign   Foreign       `json:"foreign"`
	Cookies   Cookies       `json:"cookies,omitempty"`
	WebSocket bool          `json:"websocket,omitempty"` // the host may be spoken to over a WebSocket
	Optional  bool          `json:"optional,omitempty"`
	AtStart   bool          `json:"at_start,omitempty"` // resolve: start
	TTL       time.Duration `json:"ttl,omitempty"`
	Shape     string        `json:"shape,omitempty"`  // look of the placeholder
	Sources   []Source      `json:"sources"`          // the first that yields a value is used
	Origin    string        `json:"origin,omitempty"` // the line that bound it
}

// Target is one exact authority and path scope. Scheme is the wire form there,
// which differs between the git and API hosts of gh_basic.
type Target struct {
	Authority egress.Authority `json:"authority"`
	Path      string           `json:"path,omitempty"` // glob; empty is /**
	Scheme    Scheme           `json:"scheme"`
}

// Scheme is how the value is rendered.
type Scheme string

// The renderings.
const (
	SchemeBearer Scheme = "bearer" // Authorization: Bearer s
	SchemeToken  Scheme = "token"  // Authorization: token s
	SchemeBasic  Scheme = "basic"  // Authorization: Basic b64(user:s)
	SchemeHeader Scheme = "header" // Header: Prefix+s
)

// EnvVar is a variable that carries a placeholder, or a fixed value such as GH_HOST.
type EnvVar struct {
	Name  string `json:"name"`
	Fixed string `json:"fixed,omitempty"` // a plain value instead of a placeholder
}

// Foreign says what becomes of a credential that the client itself set.
type Foreign string

// The three answers; the bare type forwards.
const (
	ForeignForward Foreign = "forward"
	ForeignStrip   Foreign = "strip"
	ForeignDeny    Foreign = "deny"
)

// Cookies says what becomes of the cookies that replies to decorated requests set.
type Cookies string

// The three answers. A session cookie authenticates without the credential.
const (
	CookiesKeep Cookies = "keep" // outside, and sent with later decorated requests; the default
	CookiesDrop Cookies = "drop"
	CookiesPass Cookies = "pass" // to the jail
)

// SourceKind says where a value comes from.
type SourceKind string

// The kinds of source.
const (
	SourceEnv     SourceKind = "env"
	SourceFile    SourceKind = "file"
	SourceCommand SourceKind = "command"
	SourceSystemd SourceKind = "systemd"
)

// Source is one place that may yield a value. Exactly the field of Kind is set.
type Source struct {
	Kind SourceKind `json:"kind"`
	Env  string     `json:"env,omitempty"`
	File string     `json:"file,omitempty"` // may begin with ~/
	Argv []string   `json:"argv,omitempty"`
	Name string     `json:"name,omitempty"` // systemd credential
	Pass []string   `json:"pass,omitempty"` // extra variables that a command gets
}
