package egress

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Scheme is what a rule lets pass.
type Scheme string

// The schemes.
const (
	HTTPS Scheme = "https" // HTTP in TLS, the default
	HTTP  Scheme = "http"  // plain HTTP; never with a credential
	TCP   Scheme = "tcp"   // an uninspected stream
)

// Port returns the port that a rule of this scheme means when it names none, 0
// when it has to name one.
func (s Scheme) Port() uint16 {
	switch s {
	case HTTPS:
		return 443
	case HTTP:
		return 80
	}
	return 0
}

// Methods are the methods that a rule may name. CONNECT and TRACE are never
// forwarded, other methods neither.
var Methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}

// Rule is one line of a policy. ParseRule makes it from the string form; one that
// is filled in field by field must pass Check. Mind that a Port of 0 means any.
type Rule struct {
	Text         string            `json:"text,omitempty"`    // as written
	Origin       string            `json:"origin,omitempty"`  // file and line that wrote it
	Deny         bool              `json:"deny,omitempty"`    // a matching request is refused
	Scheme       Scheme            `json:"scheme"`            // empty is https
	Methods      []string          `json:"methods,omitempty"` // nil: any of Methods
	Host         string            `json:"host"`              // "api.example.com", "*.example.com", "1.2.3.4", "2001:db8::1"
	Port         uint16            `json:"port,omitempty"`    // 0: any port
	Path         string            `json:"path,omitempty"`    // glob; empty is AnyPath
	Query        map[string]string `json:"query,omitempty"`   // glob of each listed key; others are free
	AllowPrivate []netip.Prefix    `json:"allow_private,omitempty"`
	MaxBody      int64             `json:"max_body,omitempty"`     // bytes of a request body; 0: no limit
	WebSocket    bool              `json:"websocket,omitempty"`    // a request may become a WebSocket
	Range        bool              `json:"range,omitempty"`        // a host with a credential may be asked for parts of a reply
	PreferHTTP2  bool              `json:"prefer_http2,omitempty"` // a client that offers both is given HTTP/2
	Open         bool              `json:"open,omitempty"`         // any host: one of OpenRules
	Unread       bool              `json:"unread,omitempty"`       // TLS for the host passes as it is, its name checked
}

// Check says what is wrong with a rule that was filled in field by field.
func (r Rule) Check() error {
	_, err := r.canonical()
	return err
}

// String returns the canonical string form. What only the long form can say is
// added in parentheses.
func (r Rule) String() string {
	var b strings.Builder
	if r.Deny {
		b.WriteByte('!')
	}
	if r.Scheme == TCP {
		b.WriteString("tcp://")
	} else if r.Methods == nil {
		b.WriteString("* ")
	} else {
		b.WriteString(strings.Join(r.Methods, ",") + " ")
	}
	if r.Scheme == HTTP {
		b.WriteString("http://")
	}
	if strings.Contains(r.Host, ":") {
		b.WriteString("[" + r.Host + "]")
	} else {
		b.WriteString(r.Host)
	}
	if r.Port == 0 {
		b.WriteString(":*")
	} else if r.Port != r.Scheme.Port() {
		b.WriteString(":" + strconv.Itoa(int(r.Port)))
	}
	b.WriteString(r.Path)
	if extra := r.extras(); len(extra) > 0 {
		b.WriteString(" (" + strings.Join(extra, "; ") + ")")
	}
	return b.String()
}

// extras renders the keys that have no place in the string form.
func (r Rule) extras() []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(r.Query)) {
		out = append(out, fmt.Sprintf("query %s=%s", k, r.Query[k]))
	}
	for _, p := range r.AllowPrivate {
		out = append(out, "allow_private "+p.String())
	}
	if r.MaxBody > 0 {
		out = append(out, fmt.Sprintf("max_body %d", r.MaxBody))
	}
	if r.WebSocket {
		out = append(out, "websocket")
	}
	if r.Range {
		out = append(out, "range")
	}
	if r.PreferHTTP2 {
		out = append(out, "h2 prefer")
	}
	if r.Unread {
		out = append(out, "not intercepted")
	}
	return out
}
