package policy

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
)

// Answer says what would happen to a request under a policy.
type Answer struct {
	Allowed    bool
	Credential string // name of the one that would be attached, empty if none
	Text       string // which rule decides and why
}

// TestURL judges one request without sending it: METHOD and an http or https
// URL. An error means that it is no request, not that it is refused.
func TestURL(d *Document, method, rawURL string) (Answer, error) {
	req, err := parseRequest(method, rawURL)
	if err != nil {
		return Answer{}, err
	}
	rules, err := egress.Compile(d.rules())
	if err != nil {
		return Answer{}, err
	}
	verdict := rules.Decide(req)
	out := Answer{Allowed: verdict.Allow, Text: strings.TrimSpace(rules.Explain(req))}
	if verdict.Allow {
		out.Credential = d.attached(req)
	}
	if out.Credential != "" {
		out.Text += fmt.Sprintf("\ncredential %q would be attached", out.Credential)
	}
	return out, nil
}

func parseRequest(method, rawURL string) (egress.Request, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return egress.Request{}, fmt.Errorf("not a URL: %w", err)
	}
	scheme := egress.Scheme(u.Scheme)
	if scheme != egress.HTTPS && scheme != egress.HTTP || u.User != nil {
		return egress.Request{}, fmt.Errorf("%q is not an http or https URL without a login in it", rawURL)
	}
	a, err := egress.ParseAuthority(u.Host, scheme.Port())
	if err != nil {
		return egress.Request{}, err
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if path, err = egress.NormalizePath(path); err != nil {
		return egress.Request{}, err
	}
	return egress.Request{Scheme: scheme, Method: strings.ToUpper(method), Authority: a, Path: path, Query: u.RawQuery}, nil
}

// attached returns the name of the binding that a request lies inside.
func (d *Document) attached(req egress.Request) string {
	if req.Scheme != egress.HTTPS || req.Method == "OPTIONS" {
		return ""
	}
	for _, c := range d.Credentials {
		if c.Methods != nil && !slices.Contains(c.Methods, req.Method) {
			continue
		}
		if slices.ContainsFunc(c.Targets, func(t creds.Target) bool {
			return t.Authority == req.Authority && (t.Path == "" || egress.MatchPath(t.Path, req.Path))
		}) {
			return c.Name
		}
	}
	return ""
}
