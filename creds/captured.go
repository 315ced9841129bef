package creds

import (
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

// The limits of what is kept of one binding. Beyond them the oldest is forgotten.
const (
	maxCaptured      = 128     // git LFS asks for a hundred files at once
	maxCapturedBytes = 4 << 20 // with the forms that are searched for, up to forty times a token
)

// MaxCaptured is the longest token that is captured, in bytes.
const MaxCaptured = 8 << 10

// captured is what a reply gave the jail for a binding's credential, and what is kept
// outside: a token, or the query of an address that authenticates whoever has it. The
// jail has a placeholder for it. It does not change.
type captured struct {
	placeholder string
	value       Secret
	at          []egress.Authority // where it may go; nil: where the binding goes
	path        string             // of a signed address: its query goes nowhere else
	forms       []string           // that replies are searched for
}

// Capture keeps a token that a reply to a request with binding i has given, and
// returns its placeholder, which is good at these authorities, without any at those of
// the binding. The same token for the same places has one placeholder. A text with
// another secret of the table in it is none: whoever makes a reply say it must not
// decide where it goes.
func (t *Table) Capture(i int, token Secret, at ...egress.Authority) (placeholder string, ok bool) {
	return t.capture(i, captured{value: token, at: at})
}

// CaptureQuery keeps the query of an address that a reply to a request with binding i
// has signed, and returns the placeholder that stands for it in this one address, as
// Capture does.
func (t *Table) CaptureQuery(i int, query Secret, at egress.Authority, path string) (placeholder string, ok bool) {
	return t.capture(i, captured{value: query, at: []egress.Authority{at}, path: path})
}

// Places returns where a token is good that a host has given for binding i and named
// these authorities for, and whether it had a say in that. Without any they are those of
// the binding, or the host alone, where it is another than them. Only hosts of a binding
// name others of it: whoever has a storage could else have an account of its own used
// where the policy lets no foreign credential.
func (t *Table) Places(i int, by egress.Authority, named []egress.Authority) (at []egress.Authority, ok bool) {
	r := t.rows[i]
	if len(named) == 0 && !r.boundTo(by) {
		named = []egress.Authority{by}
	}
	for _, to := range named {
		if to != by && t.HasHost(to.Host()) && !(r.boundTo(by) && r.boundTo(to)) {
			return nil, false
		}
	}
	return named, true
}

func (t *Table) capture(i int, c captured) (placeholder string, ok bool) {
	r := t.rows[i]
	r.capturing.Lock()
	defer r.capturing.Unlock()
	for _, k := range r.kept() {
		if k.path == c.path && slices.Equal(k.at, c.at) && same(string(k.value.Reveal()), string(c.value.Reveal())) {
			return k.placeholder, true
		}
	}
	if r.dropped.Load() || t.holds(string(c.value.Reveal())) {
		return "", false
	}
	c.placeholder = mint("")
	for _, text := range c.texts() {
		c.forms = append(c.forms, variants(text)...)
	}
	r.keep(&c)
	return c.placeholder, true
}

// holds reports whether a text has a form of a secret in it.
func (t *Table) holds(text string) bool {
	if m, _ := t.ownMatcher(); m != nil {
		s := Scrubber{find: func() *Matcher { return m }}
		if _, hits := s.Next([]byte(text)); hits > 0 {
			return true
		}
	}
	text = string(folded([]byte(text)))
	return slices.ContainsFunc(t.known(), func(r *row) bool {
		return slices.ContainsFunc(r.kept(), func(c *captured) bool {
			return slices.ContainsFunc(c.forms, func(form string) bool { return strings.Contains(text, form) })
		})
	})
}

func (r *state) keep(c *captured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := append(slices.Clone(r.kept()), c)
	for bytes := sizeOf(now); len(now) > maxCaptured || bytes > maxCapturedBytes; now = now[1:] {
		bytes -= now[0].size()
	}
	r.captured.Store(&now)
	r.captures.Add(1)
}

func sizeOf(list []*captured) (bytes int) {
	for _, c := range list {
		bytes += c.size()
	}
	return bytes
}

// size is what is kept of c, in bytes.
func (c *captured) size() int {
	n := c.value.Len()
	for _, form := range c.forms {
		n += len(form)
	}
	return n
}

// kept is what a binding has earned, the latest last.
func (r *state) kept() []*captured {
	if list := r.captured.Load(); list != nil {
		return *list
	}
	return nil
}

// goesTo reports whether something that r has earned was, or may be, told to a host
// beside those that r is bound to.
func (r *row) goesTo(host string) bool {
	return slices.ContainsFunc(r.kept(), func(c *captured) bool {
		return slices.ContainsFunc(c.at, func(a egress.Authority) bool { return a.Host() == host })
	})
}

// goodAt reports whether what r has earned may be sent to a.
func (c *captured) goodAt(r *row, a egress.Authority) bool {
	if len(c.at) == 0 {
		return r.boundTo(a)
	}
	return slices.Contains(c.at, a)
}

// texts are what replies are searched for: the token, or what signs the address, since
// a server that explains why it refuses one quotes that by itself. Short ones are not:
// they stand in every page.
func (c *captured) texts() (out []string) {
	value := string(c.value.Reveal())
	if c.path == "" {
		out = []string{value}
	}
	for field := range strings.SplitSeq(value, "&") {
		if name, v, _ := strings.Cut(field, "="); c.path != "" && signs(name) {
			out = append(out, v)
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return len(s) < MinMasked })
}

// signs reports whether a parameter of a query, by its name, is what makes an address
// authenticate: those of S3, Cloud Storage, CloudFront and Azure. What names the key is
// none: all addresses that it signs have that in them.
func signs(name string) bool {
	switch name {
	case "X-Amz-Signature", "X-Goog-Signature", "Signature", "sig":
		return true
	}
	return false
}

// Token is a captured token in a request, and how the client has it there.
type Token struct {
	Value  Secret
	header string // by its canonical name
	scheme string // that stands before it, with the blank behind; empty for none
	user   string // of a Basic header, with the colon behind it
}

// Header returns the header that carries the value in the place of its placeholder.
func (k Token) Header(value []byte) (name, text string) {
	if k.user == "" {
		return k.header, k.scheme + string(value)
	}
	return k.header, Render(SchemeBasic, strings.TrimSuffix(k.user, ":"), "", value)
}

// tokenIn finds the captured token that q rightly carries, and whose it is.
func (t *Table) tokenIn(q Request) (k Token, binding int, found bool) {
	if q.Scheme != egress.HTTPS {
		return Token{}, -1, false
	}
	for i, r := range t.all() {
		if r.dropped.Load() || len(r.kept()) == 0 {
			continue
		}
		for _, name := range []string{authorization, r.HeaderName()} {
			if values := q.Header[name]; len(values) == 1 && Find(values[0]) {
				if k, found = r.tokenAs(name, strings.Trim(values[0], " \t"), q.Authority); found {
					return k, i, true
				}
			}
		}
	}
	return Token{}, -1, false
}

// tokenAs finds the token whose placeholder is a header's value, alone, behind a word,
// or as the password of a Basic one.
func (r *row) tokenAs(header, value string, to egress.Authority) (Token, bool) {
	k := Token{header: header}
	scheme, rest, ok := strings.Cut(value, " ")
	if ok {
		k.scheme, value = scheme+" ", strings.Trim(rest, " \t")
	}
	if k.Value, ok = r.valueOf(value, to); ok {
		return k, true
	}
	decoded, ok := decodeBasic(value)
	if !ok || !strings.EqualFold(scheme, "basic") {
		return Token{}, false
	}
	user, password, ok := strings.Cut(decoded, ":")
	if !ok || Find(user) {
		return Token{}, false
	}
	k.user = user + ":"
	k.Value, ok = r.valueOf(password, to)
	return k, ok
}

// valueOf is what a placeholder stands for in a header of a request to a host.
func (r *row) valueOf(placeholder string, to egress.Authority) (Secret, bool) {
	for _, c := range r.kept() {
		if c.path == "" && c.goodAt(r, to) && same(placeholder, c.placeholder) {
			return c.value, true
		}
	}
	return Secret{}, false
}

// Signed returns the query in whose place q's is a placeholder, and whose binding has
// earned it. There is none unless the whole query is that, in the address that it was
// given for.
func (t *Table) Signed(scheme egress.Scheme, a egress.Authority, path, query string) (value Secret, binding int) {
	if scheme != egress.HTTPS || len(query) > 2*len(marker)+4*randomBytes || !Find(query) {
		return Secret{}, -1
	}
	for i, r := range t.all() {
		if r.dropped.Load() {
			continue
		}
		for _, c := range r.kept() {
			if c.path != "" && c.path == path && c.goodAt(r, a) && same(query, c.placeholder) {
				return c.value, i
			}
		}
	}
	return Secret{}, -1
}
