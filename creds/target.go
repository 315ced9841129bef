package creds

import (
	"fmt"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

const httpsPort = 443

// ParseTarget parses host[:port][/path-glob]. The port defaults to 443; path is
// empty when the whole host is meant. A wildcard host is refused: a credential
// goes where its owner named, nowhere else.
func ParseTarget(s string) (a egress.Authority, path string, err error) {
	host, rest, scoped := strings.Cut(s, "/")
	if strings.Contains(host, "*") {
		return a, "", fmt.Errorf("target %.80q: a credential needs an exact host", s)
	}
	if a, err = egress.ParseAuthority(host, httpsPort); err != nil {
		return a, "", fmt.Errorf("target: %w", err)
	}
	if strings.HasSuffix(a.Host(), "localhost") {
		return egress.Authority{}, "", fmt.Errorf("target %.80q: the jail's own loopback is never intercepted", s)
	}
	if scoped {
		path = "/" + rest
		if err := egress.CheckGlob(path); err != nil {
			return egress.Authority{}, "", fmt.Errorf("target %.80q: %w", s, err)
		}
	}
	return a, path, nil
}

// glob is the path scope as it is matched.
func (t Target) glob() string {
	if t.Path == "" {
		return egress.AnyPath
	}
	return t.Path
}

// scoped reports whether the path decides.
func (t Target) scoped() bool { return t.glob() != egress.AnyPath }
