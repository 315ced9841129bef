package creds

import (
	"net/http"
	"testing"
)

func TestS30_ASecondMethodIsRefusedOnBoundHosts(t *testing.T) {
	tab := table(t, bindings(t))
	for _, c := range []struct {
		host, target, header string
		want                 Action
	}{
		{"api.github.com", "/x", "", Attach},
		{"api.github.com", "/x?method=DELETE&a_method=1", "", Attach},
		{"api.github.com", "/x?a=_method", "", Attach},
		{"api.github.com", "/x", "X-HTTP-Method-Override", RefuseOverride},
		{"api.github.com", "/x", "x-http-method", RefuseOverride},
		{"api.github.com", "/x", "X-Method-Override", RefuseOverride},
		{"api.github.com", "/x", "X_HTTP_Method_Override", RefuseOverride},
		{"api.github.com", "/x", "X-Original-URL", RefuseOverride},
		{"api.github.com", "/x", "x_rewrite-url", RefuseOverride},
		{"api.github.com", "/x", "X_Request_Id", Attach},
		{"api.github.com", "/x?_method=DELETE", "", RefuseOverride},
		{"api.github.com", "/x?a=1;_method=DELETE", "", RefuseOverride},
		{"api.github.com", "/x?a=1&%5fmethod=DELETE", "", RefuseOverride},
		{"api.github.com", "/x?_METHOD", "", RefuseOverride},
		{"api.example", "/outside?_method=PUT", "", RefuseOverride},
		{"other.test", "/x?_method=DELETE", "X-HTTP-Method-Override", Forward},
	} {
		q := request(t, c.host, c.target)
		q.Method = http.MethodPost
		if c.header != "" {
			q.Header.Set(c.header, "DELETE")
		}
		if got := tab.Judge(q); got.Action != c.want {
			t.Errorf("%s%s with %q: %v, want %v", c.host, c.target, c.header, got.Action, c.want)
		}
	}
}

// TestS30_ASecondSpellingOfABoundHeader: servers that take "_" for "-" would have two
// values to choose from.
func TestS30_ASecondSpellingOfABoundHeader(t *testing.T) {
	for bound, other := range map[string]string{"X-Api-Key": "X_Api_Key", "api_key": "Api-Key"} {
		b := bindings(t)[1]
		b.Header = bound
		tab := table(t, []Binding{b})
		q := request(t, "api.example", "/v1/x")
		if got := tab.Judge(q); got.Action != Attach {
			t.Errorf("%s: %v", bound, got.Action)
		}
		q.Header.Set(other, "mine")
		if got := tab.Judge(q); got.Action != RefuseOverride {
			t.Errorf("%s beside %s: %v", other, bound, got.Action)
		}
	}
}
