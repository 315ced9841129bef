package mitm

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/omnijail/omnijail/internal/egress"
)

// BenchmarkUnread carries 32 MB replies of a host whose rule says intercept: false,
// and the same where they are read.
func BenchmarkUnread(b *testing.B) {
	benchBig(b, func(b *testing.B, h http.Handler) []*contestant {
		up := ""
		enter := func(name string, rule egress.Rule) *contestant {
			r := newRig(b, options{config: withRules([]egress.Rule{rule})})
			if up == "" {
				up = r.start("api.test:443", httptest.NewUnstartedServer(h))
			}
			c := r.client(r.at("api.test:443", up))
			if rule.Unread {
				transportOf(c).TLSClientConfig.RootCAs = r.upstream.Roots
			}
			return &contestant{name: name, client: c}
		}
		return []*contestant{enter("unread", unread("api.test")), enter("read", egress.Rule{Host: "api.test", Port: 443})}
	}, make([]byte, 256<<10))
}
