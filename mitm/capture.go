package mitm

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// captureLook is how much of a reply of known length is read before its head is passed
// on, in bytes, so that its length can be told and a refusal can take its place.
const captureLook = 64 << 10

// maxMinted is how many tokens of one reply are captured. More than are kept are
// forgotten, but those of git LFS are often the same.
const maxMinted = 512

// capturing is the body of a reply in which each token is replaced by a placeholder.
type capturing struct {
	io.ReadCloser
	keep func(token string) (placeholder string)

	tokens tokenFinder
	token  []byte // the one that is going by
	in     []byte
	out    []byte // has been looked through
	err    error  // follows out
}

// captureMinted keeps outside what a reply gives the jail for its credential, where the
// policy says so: the jail has placeholders. It comes before the search for secrets,
// which masks what it has left.
func (x *exchange) captureMinted(resp *http.Response) error {
	if x.binding < 0 || x.g.OnMinted != MintingCapture {
		return nil
	}
	x.minted = &minted{}
	if x.captureLocation(resp.Header) && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		// Its body quotes the address for people. The search would take that for a secret
		// that was said again, three of which stop the jail's network.
		return forgo(resp)
	}
	if !x.mayMint(resp) || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	if err := x.vetCharset(resp); err != nil {
		return err
	}
	if lfs(resp.Header) {
		return x.captureLFS(resp)
	}
	c := &capturing{ReadCloser: resp.Body, keep: func(token string) string { return x.keepToken(token) }}
	resp.Body = c
	if resp.ContentLength < 0 || resp.ContentLength > captureLook {
		delete(resp.Header, "Content-Length")
		resp.ContentLength = -1
		return nil
	}
	body, err := io.ReadAll(c)
	replaceBody(resp, body)
	return err
}

// forgo leaves a reply's body out. It reads a short one, so that another request can
// follow on its connection.
func forgo(resp *http.Response) (err error) {
	if resp.ContentLength >= 0 && resp.ContentLength <= captureLook {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	replaceBody(resp, nil)
	return err
}

// replaceBody makes body the reply's, in the place of the one that was read.
func replaceBody(resp *http.Response, body []byte) {
	delete(resp.Header, "Content-Length")
	resp.Body, resp.ContentLength = readCloser{bytes.NewReader(body), resp.Body}, int64(len(body))
}

// keepToken returns what the jail gets for a token. One that could be no header's value
// is nothing that could be put back, and one for a place that this host has no say in
// must not go there: it becomes asterisks. One that is no token but a secret is left to
// the search for those.
func (x *exchange) keepToken(token string, at ...egress.Authority) string {
	secret, err := creds.NewSecret([]byte(token))
	at, ok := x.g.Table.Places(x.binding, x.s.authority, at)
	if x.minted.tokens++; err != nil || !ok || x.minted.tokens > maxMinted {
		return x.maskToken(token)
	}
	x.s.p.afford(captureWork + time.Duration(len(token))*captureByteWork)
	placeholder, ok := x.captured(at, func() (string, bool) { return x.g.Table.Capture(x.binding, secret, at...) })
	if !ok {
		return token
	}
	return placeholder
}

// maskToken keeps a token from the jail and has nothing for it.
func (x *exchange) maskToken(token string) string {
	x.minted.captured = true
	return strings.Repeat("*", len(token))
}

// captured keeps something that is good at these hosts. What one of them is answering
// unsearched, since it knew no secret so far, ends.
func (x *exchange) captured(at []egress.Authority, keep func() (string, bool)) (placeholder string, ok bool) {
	x.s.p.telling.Lock() // whoever finds that a host is told already may rely on what follows
	defer x.s.p.telling.Unlock()
	told := !slices.ContainsFunc(at, func(a egress.Authority) bool { return !x.g.Table.Searched(a.Host()) })
	if placeholder, ok = keep(); !ok {
		return "", false
	}
	x.minted.captured = true
	if !told {
		x.s.p.resift()
	}
	return placeholder, true
}

// Read returns as soon as a byte can go on. A *refusal ends the reply.
func (c *capturing) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		if c.in == nil {
			c.in = make([]byte, tlsRecord)
		}
		var n int
		n, c.err = c.ReadCloser.Read(c.in)
		c.out = c.out[:0]
		if no := c.look(c.in[:n]); no != nil {
			c.err = no
		}
		if errors.Is(c.err, io.EOF) && c.tokens.inside && c.tokens.ends == '&' { // the end of a form ends its last field
			c.give()
		}
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

// look puts into out what can go on of b.
func (c *capturing) look(b []byte) error {
	for len(b) > 0 {
		plain, token, whole := c.tokens.next(b)
		c.out = append(c.out, b[:plain]...)
		if c.token = append(c.token, b[plain:plain+token]...); len(c.token) > creds.MaxCaptured {
			return refuse(http.StatusBadGateway, audit.CodeMintedToken, "a token in the reply is too long to be kept from the jail")
		}
		if whole {
			c.give()
		}
		b = b[plain+token:]
	}
	return nil
}

// give puts the placeholder of the token that has gone by into out.
func (c *capturing) give() {
	c.out = append(c.out, c.keep(unescaped(string(c.token), c.tokens.ends))...)
	c.token = nil
}

// unescaped is a token as its client reads it, by what ends it there.
func unescaped(token string, ends byte) string {
	switch ends {
	case '"':
		var s string
		if err := json.Unmarshal([]byte(`"`+token+`"`), &s); err == nil {
			return s
		}
	case '<':
		return html.UnescapeString(token)
	case '&':
		if s, err := url.QueryUnescape(token); err == nil {
			return s
		}
	}
	return token
}
