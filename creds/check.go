package creds

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

const (
	maxBindings = 64
	maxTargets  = 64
)

// Check says what is wrong with a binding, whose defaults must have been filled
// in. Errors begin with the key that is at fault.
func (b Binding) Check() error {
	if !ValidName(b.Name) {
		return fmt.Errorf("name %.80q: lower-case letters, digits, dots, hyphens and underscores, at most 64", b.Name)
	}
	if err := b.checkWire(); err != nil {
		return err
	}
	if err := b.checkTargets(); err != nil {
		return err
	}
	if err := checkMethods(b.Methods); err != nil {
		return err
	}
	if err := b.checkEnv(); err != nil {
		return err
	}
	switch b.Foreign {
	case "", ForeignForward, ForeignStrip, ForeignDeny:
	default:
		return fmt.Errorf("foreign %.32q: forward, strip or deny", b.Foreign)
	}
	switch b.Cookies {
	case "", CookiesKeep, CookiesDrop, CookiesPass:
	default:
		return fmt.Errorf("cookies %.32q: keep, drop or pass", b.Cookies)
	}
	return b.checkSources()
}

// checkWire looks at what the type needs to render a value.
func (b Binding) checkWire() error {
	if !slices.Contains([]Type{Bearer, Basic, Header, Git, GH}, b.Type) {
		return fmt.Errorf("type %.32q: https_bearer, https_basic, https_header, git_https or gh_basic", b.Type)
	}
	if b.Type != Header && (b.Header != "" || b.Prefix != "") {
		return fmt.Errorf("header, prefix: have no meaning with %s", b.Type)
	}
	if b.Username != "" && (b.Type == Bearer || b.Type == Header) {
		return fmt.Errorf("username: has no meaning with %s", b.Type)
	}
	if i := strings.IndexFunc(b.Username, isControl); i >= 0 || strings.Contains(b.Username, ":") {
		return errors.New("username: holds a colon or a control character")
	}
	if strings.IndexFunc(b.Prefix, isControl) >= 0 {
		return errors.New("prefix: holds a control character")
	}
	if b.Type == Header {
		return checkHeader(b.Header)
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// checkHeader refuses names that steer the connection or the request's framing,
// and cookies, which replies would set in the jail.
func checkHeader(name string) error {
	if !validHeader(name) {
		return fmt.Errorf("header %.80q: not a header name", name)
	}
	canon := http.CanonicalHeaderKey(name)
	switch canon {
	case "Host", "Connection", "Cookie", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Keep-Alive":
		return fmt.Errorf("header %s: cannot carry a credential", canon)
	}
	for _, prefix := range []string{"Content-", "Proxy-", "X-Omnijail-"} {
		if strings.HasPrefix(canon, prefix) {
			return fmt.Errorf("header %s: cannot carry a credential", canon)
		}
	}
	return nil
}

func (b Binding) checkTargets() error {
	if len(b.Targets) == 0 {
		return errors.New("targets: a credential needs a host that it is for")
	}
	if len(b.Targets) > maxTargets {
		return fmt.Errorf("targets: more than %d", maxTargets)
	}
	for _, t := range b.Targets {
		if t.Authority.IsZero() {
			return errors.New("targets: a host is missing")
		}
		if t.Path != "" {
			if err := egress.CheckGlob(t.Path); err != nil {
				return fmt.Errorf("targets: %s: %w", t.Authority, err)
			}
		}
		if !slices.Contains(schemesOf(b.Type), t.Scheme) {
			return fmt.Errorf("targets: %s: a %s credential is not sent as %q", t.Authority, b.Type, t.Scheme)
		}
	}
	return nil
}

func schemesOf(t Type) []Scheme {
	switch t {
	case Bearer:
		return []Scheme{SchemeBearer}
	case Header:
		return []Scheme{SchemeHeader}
	case GH:
		return []Scheme{SchemeBasic, SchemeToken, SchemeBearer}
	}
	return []Scheme{SchemeBasic}
}

// checkMethods refuses OPTIONS beside unknown methods: a credential never rides
// on a preflight, whatever a policy says.
func checkMethods(methods []string) error {
	if methods != nil && len(methods) == 0 {
		return errors.New("methods: the list is empty; leave the key out for any")
	}
	for _, m := range methods {
		if m == http.MethodOptions || !slices.Contains(egress.Methods, m) {
			return fmt.Errorf("methods: %.32q never carries a credential", m)
		}
	}
	return nil
}

func (b Binding) checkEnv() error {
	placeholder := false
	for _, e := range b.Env {
		if !ValidEnv(e.Name) {
			return fmt.Errorf("env %.80q: not a variable name", e.Name)
		}
		if strings.IndexFunc(e.Fixed, isControl) >= 0 {
			return fmt.Errorf("env %s: holds a control character", e.Name)
		}
		placeholder = placeholder || e.Fixed == ""
	}
	if _, ok := shapes[b.Shape]; !ok {
		return fmt.Errorf("shape %.32q: %s", b.Shape, knownShapes())
	}
	if b.Shape != "" && !placeholder {
		return errors.New("shape: needs env, there is no placeholder otherwise")
	}
	return nil
}
