package mitm

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// authenticate makes the request's headers what the credential table decided. It
// is the only function that reveals a secret; hop-by-hop headers are gone by now.
func (x *exchange) authenticate(ctx context.Context) error {
	v, h := x.cred, x.req.Header
	if v.Action != creds.Strip && v.Action != creds.Attach {
		return nil
	}
	for _, name := range v.Remove {
		delete(h, name)
	}
	if v.Action == creds.Strip {
		return nil
	}
	table := x.g.Table
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
	x.jarKey = jarKey{v.Binding, table.Generation(v.Binding), x.s.authority}
	addCookies(h, x.g.jar.cookies(x.jarKey, x.target.path, time.Now()))
	return nil
}
