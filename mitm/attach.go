package mitm

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// This is the only file that reveals a secret.

// authenticate makes the request's headers what the credential table decided.
// Hop-by-hop headers are gone by now.
func (x *exchange) authenticate(ctx context.Context) error {
	v, h, table := x.cred, x.req.Header, x.g.Table
	if x.binding >= 0 {
		x.jarKey = jarKey{x.binding, table.Generation(x.binding), x.s.authority}
	}
	switch v.Action {
	case creds.Attach, creds.Strip, creds.Exchange:
		for _, name := range v.Remove {
			delete(h, name)
		}
	}
	switch v.Action {
	case creds.Attach:
		return x.attach(ctx)
	case creds.Exchange:
		name, value := v.Token.Header(v.Token.Value.Reveal())
		h[name] = []string{value}
	}
	return nil
}

// attach adds the credential, and the cookies that it has earned.
func (x *exchange) attach(ctx context.Context) error {
	v, h, table := x.cred, x.req.Header, x.g.Table
	secret, err := table.Wait(ctx, v.Binding)
	if err != nil {
		return refuse(http.StatusBadGateway, audit.CodeCredential,
			fmt.Sprintf("credential %q is not available", table.Binding(v.Binding).Name))
	}
	for _, name := range v.Replace {
		delete(h, name)
	}
	name, value := table.Header(v, secret.Reveal())
	h[name] = []string{value}
	x.jarKey.generation = table.Generation(v.Binding) // of the value that was waited for
	addCookies(h, x.g.jar.cookies(x.jarKey, x.target.path, time.Now()))
	return nil
}

// revealed is the query that signs an address.
func revealed(query creds.Secret) string { return string(query.Reveal()) }
