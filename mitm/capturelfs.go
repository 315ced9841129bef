package mitm

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// maxLFS is how large an answer of git LFS may be, in bytes. It names a hundred files.
const maxLFS = 4 << 20

// lfs reports whether a reply is git LFS's: where its files are, and what opens them,
// often at another host.
func lfs(h http.Header) bool {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(t), "application/vnd.git-lfs+json")
}

// captureLFS keeps the headers and signed addresses of an answer of git LFS. Each is
// good at the host that the answer names for it.
func (x *exchange) captureLFS(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLFS+1))
	if err != nil {
		return err
	}
	var answer any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if len(body) > maxLFS || dec.Decode(&answer) != nil {
		return refuse(http.StatusBadGateway, audit.CodeMintedToken,
			"the answer of "+x.s.authority.Host()+" to git LFS cannot be looked through for tokens, and the policy keeps such from the jail")
	}
	x.captureActions(answer)
	body, err = json.Marshal(answer)
	replaceBody(resp, body)
	return err
}

// captureActions goes through all of an answer for what has an address and headers:
// actions, and whatever a server puts beside them.
func (x *exchange) captureActions(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			x.captureActions(e)
		}
	case map[string]any:
		if href, ok := v["href"].(string); ok {
			x.captureAction(v, href)
		}
		for _, e := range v {
			x.captureActions(e)
		}
	}
}

func (x *exchange) captureAction(action map[string]any, href string) {
	to, err := url.Parse(href)
	var at egress.Authority
	if err == nil {
		at, err = egress.ParseAuthority(to.Host, egress.HTTPS.Port())
	}
	secure := err == nil && to.Scheme == string(egress.HTTPS)
	header, _ := action["header"].(map[string]any)
	for name, value := range header {
		text, ok := value.(string)
		if !ok || !authenticates(name) {
			continue
		}
		scheme, token, ok := strings.Cut(text, " ")
		if !ok {
			scheme, token = "", text
		} else {
			scheme += " "
		}
		if secure {
			header[name] = scheme + x.keepToken(token, at)
		} else { // no credential goes to what is not encrypted
			x.minted.captured = true
			header[name] = scheme + strings.Repeat("*", len(token))
		}
	}
	if signed, ok := x.keepAddress(href); ok {
		action["href"] = signed
	}
}

// authenticates reports whether a header says who asks.
func authenticates(name string) bool { return strings.EqualFold(name, "Authorization") }
