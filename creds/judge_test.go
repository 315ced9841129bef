package creds

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/egress"
)

func authority(t *testing.T, s string) egress.Authority {
	t.Helper()
	a, err := egress.ParseAuthority(s, httpsPort)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func target(t *testing.T, s string) Target {
	t.Helper()
	a, path, err := ParseTarget(s)
	if err != nil {
		t.Fatal(err)
	}
	return Target{Authority: a, Path: path}
}

var source = []Source{{Kind: SourceEnv, Env: "TOKEN"}}

// bindings are those of most tests: GitHub with placeholders, a scoped API key
// with one, and a plain bearer without.
func bindings(t *testing.T) []Binding {
	t.Helper()
	return []Binding{
		Defaults(Binding{Type: GH, Sources: source}, ""),
		Defaults(Binding{Type: Header, Header: "X-Api-Key", Prefix: "k ", Env: []EnvVar{{Name: "API_KEY"}},
			Methods: []string{"GET"}, Targets: []Target{target(t, "api.example/v1/**")}, Sources: source}, ""),
		Defaults(Binding{Type: Bearer, Targets: []Target{target(t, "plain.example:8443")}, Sources: source}, ""),
	}
}

func table(t *testing.T, bs []Binding) *Table {
	t.Helper()
	tab, err := NewTable(bs)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// request is a GET in TLS of an authority and target, with headers in pairs.
func request(t *testing.T, at, rawTarget string, headers ...string) Request {
	t.Helper()
	raw, _, _ := strings.Cut(rawTarget, "?")
	path, err := egress.NormalizePath(raw)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return Request{Scheme: egress.HTTPS, Method: "GET", Authority: authority(t, at), Path: path, RawTarget: rawTarget, Header: h}
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestJudgeAttaches(t *testing.T) {
	tab := table(t, bindings(t))
	env := tab.Placeholders()
	gh, key := env["GH_TOKEN"], env["API_KEY"]
	for name, c := range map[string]struct {
		q     Request
		value string
	}{
		"nothing set":    {request(t, "api.github.com", "/user"), "token s3"},
		"empty header":   {request(t, "api.github.com", "/user", "Authorization", "  "), "token s3"},
		"token":          {request(t, "api.github.com", "/user", "Authorization", "token "+gh), "token s3"},
		"odd case":       {request(t, "api.github.com", "/user", "Authorization", "bEaReR \t "+gh), "token s3"},
		"git":            {request(t, "github.com", "/o/r.git/info/refs?service=git-upload-pack", "Authorization", basic("me", gh)), basic("x-access-token", "s3")},
		"basic url-safe": {request(t, "github.com", "/o", "Authorization", "basic "+base64.RawURLEncoding.EncodeToString([]byte("??>:"+gh))), basic("x-access-token", "s3")},
		"header":         {request(t, "api.example", "/v1/x", "X-Api-Key", key), "k s3"},
		"header prefix":  {request(t, "api.example", "/v1", "X-Api-Key", "k "+key), "k s3"},
		"port":           {request(t, "plain.example:8443", "/"), "Bearer s3"},
	} {
		v := tab.Judge(c.q)
		if v.Action != Attach {
			t.Errorf("%s: %v at %q, want attach", name, v.Action, v.Where)
			continue
		}
		if _, got := tab.Header(v, []byte("s3")); got != c.value {
			t.Errorf("%s: rendered %q, want %q", name, got, c.value)
		}
		if placed := Find(strings.Join(c.q.Header.Values(tab.Binding(v.Binding).HeaderName()), "")); placed != (len(v.Replace) == 1) {
			t.Errorf("%s: placeholder there %v, but Replace %q", name, placed, v.Replace)
		}
	}
}

func TestJudgeDoesNotAttach(t *testing.T) {
	tab := table(t, bindings(t))
	with := func(q Request, change func(*Request)) Request { change(&q); return q }
	for name, c := range map[string]struct {
		q    Request
		want Action
	}{
		"another host":    {request(t, "other.example", "/"), Forward},
		"subdomain":       {request(t, "x.api.github.com", "/"), Forward},
		"another port":    {request(t, "api.github.com:8443", "/"), Forward},
		"another path":    {request(t, "api.example", "/v2/x"), Forward},
		"boundary":        {request(t, "api.example", "/v1evil"), Forward},
		"another method":  {with(request(t, "api.example", "/v1/x"), func(q *Request) { q.Method = "POST" }), Forward},
		"plain http":      {with(request(t, "api.github.com", "/user"), func(q *Request) { q.Scheme = egress.HTTP }), Forward},
		"options":         {with(request(t, "api.github.com", "/user"), func(q *Request) { q.Method = "OPTIONS" }), Forward},
		"unknown method":  {with(request(t, "api.github.com", "/user"), func(q *Request) { q.Method = "PROPFIND" }), Forward},
		"trace":           {with(request(t, "api.github.com", "/user"), func(q *Request) { q.Method = "TRACE" }), RefuseMethod},
		"escaped slash":   {request(t, "api.example", "/v1/a%2f..%2f..%2fadmin"), RefusePath},
		"twice escaped":   {request(t, "api.example", "/v1/%252e%252e/admin"), RefusePath},
		"path parameters": {request(t, "api.example", "/v1/..;/admin"), RefusePath},
		"whole host slash": {request(t, "api.github.com", "/repos/o/r/branches/a%2Fb"),
			Attach}, // the whole host is bound: the path decides nothing
	} {
		if v := tab.Judge(c.q); v.Action != c.want {
			t.Errorf("%s: %v, want %v", name, v.Action, c.want)
		}
	}
}

// TestPlaceholderNeverLeaves holds that a placeholder in any place but its own is
// refused, for every disguise, every table and every host.
func TestPlaceholderNeverLeaves(t *testing.T) {
	tab, other := table(t, bindings(t)), table(t, bindings(t))
	gh, key := tab.Placeholders()["GH_TOKEN"], tab.Placeholders()["API_KEY"]
	withoutCredentials := table(t, nil)
	for name, s := range disguises(gh) {
		s = strings.ToValidUTF8(s, "")
		for _, at := range []string{"api.github.com", "other.example"} {
			for _, header := range []string{"Cookie", "Referer", "User-Agent", "X-Api-Key", "Proxy-Authorization", "Authorization"} {
				q := request(t, at, "/user", header, s)
				for _, tab := range []*Table{tab, other, withoutCredentials, nil} {
					if v := tab.Judge(q); v.Action != RefusePlaceholder || v.Where != "header "+header {
						t.Errorf("%s in %s to %s: %v at %q", name, header, at, v.Action, v.Where)
					}
				}
			}
		}
	}
	options := request(t, "api.github.com", "/user", "Authorization", "token "+gh)
	options.Method = "OPTIONS"
	twice := request(t, "api.github.com", "/user", "Authorization", "token "+gh, "Authorization", "token mine")
	for name, q := range map[string]Request{
		"wrong host":      request(t, "other.example", "/user", "Authorization", "Bearer "+gh),
		"wrong binding":   request(t, "api.github.com", "/user", "Authorization", "Bearer "+key),
		"outside path":    request(t, "api.example", "/v2", "X-Api-Key", key),
		"query":           request(t, "api.github.com", "/user?token="+gh),
		"query escaped":   request(t, "api.github.com", "/user?token="+percentAll(gh)),
		"query twice":     request(t, "api.github.com", "/user?token="+strings.ReplaceAll(percentAll(gh), "%", "%25")),
		"path":            request(t, "api.github.com", "/"+gh),
		"header name":     request(t, "api.github.com", "/user", gh, "x"),
		"also a cookie":   request(t, "api.github.com", "/user", "Authorization", "token "+gh, "Cookie", "a="+gh),
		"options":         options,
		"two values":      twice,
		"user name":       request(t, "github.com", "/o", "Authorization", basic(gh, "x-oauth-basic")),
		"user and pass":   request(t, "github.com", "/o", "Authorization", basic(gh, gh)),
		"longer":          request(t, "github.com", "/o", "Authorization", basic("me", "x"+gh)),
		"other scheme":    request(t, "api.github.com", "/user", "Authorization", `Token token="`+gh+`"`),
		"digest":          request(t, "api.github.com", "/user", "Authorization", `Digest username="`+gh+`"`),
		"no scheme":       request(t, "api.github.com", "/user", "Authorization", gh),
		"plain host name": request(t, "oa_cred_"+strings.Repeat("a", 40)+".example", "/"),
	} {
		if v := tab.Judge(q); v.Action != RefusePlaceholder || v.Where == "" {
			t.Errorf("%s: %v at %q, want refused", name, v.Action, v.Where)
		}
	}
}

func TestJudgeForeign(t *testing.T) {
	for answer, want := range map[Foreign]Action{"": Forward, ForeignForward: Forward, ForeignStrip: Attach, ForeignDeny: RefuseForeign} {
		b := Defaults(Binding{Type: Bearer, Foreign: answer, Targets: []Target{target(t, "h.example/v1/**")}, Sources: source}, "")
		tab := table(t, []Binding{b})
		v := tab.Judge(request(t, "h.example", "/v1/x", "Authorization", "Bearer mine"))
		if v.Action != want || !v.Foreign || v.Binding != 0 {
			t.Errorf("foreign %q inside: %+v, want %v", answer, v, want)
		}
		outside := map[Action]Action{Attach: Strip}[want]
		if want != Attach {
			outside = want
		}
		v = tab.Judge(request(t, "h.example", "/v2/x", "Authorization", "Bearer mine"))
		if v.Action != outside || (len(v.Remove) == 1) != (answer == ForeignStrip) {
			t.Errorf("foreign %q outside the path: %+v, want %v", answer, v, outside)
		}
		if v := tab.Judge(request(t, "other.example", "/", "Authorization", "Bearer mine")); v.Action != Forward || v.Foreign {
			t.Errorf("foreign %q on another host: %+v, want forward", answer, v)
		}
	}
}

func TestDroppedBindingIsNotThere(t *testing.T) {
	tab := table(t, bindings(t))
	gh := tab.Placeholders()["GH_TOKEN"]
	tab.Drop(0)
	if _, ok := tab.Placeholders()["GH_TOKEN"]; ok {
		t.Error("the placeholder of a dropped binding is still handed out")
	}
	if v := tab.Judge(request(t, "api.github.com", "/user")); v.Action != Forward {
		t.Errorf("without a credential: %v", v.Action)
	}
	if v := tab.Judge(request(t, "api.github.com", "/user", "Authorization", "token "+gh)); v.Action != RefusePlaceholder {
		t.Errorf("with its old placeholder: %v", v.Action)
	}
}

func BenchmarkJudge(b *testing.B) {
	tab, err := NewTable([]Binding{Defaults(Binding{Type: GH, Sources: source}, "")})
	if err != nil {
		b.Fatal(err)
	}
	a, _ := egress.ParseAuthority("api.github.com", httpsPort)
	q := Request{Scheme: egress.HTTPS, Method: "GET", Authority: a, Path: "/repos/cli/cli/issues", RawTarget: "/repos/cli/cli/issues?per_page=30",
		Header: http.Header{
			"Authorization": {"token " + tab.Placeholders()["GH_TOKEN"]},
			"Accept":        {"application/vnd.github.merge-info-preview+json, application/vnd.github.nebula-preview"},
			"User-Agent":    {"GitHub CLI 2.46.0"}, "Accept-Encoding": {"gzip"}, "Time-Zone": {"Europe/Berlin"},
		}}
	for b.Loop() {
		if tab.Judge(q).Action != Attach {
			b.Fatal("not attached")
		}
	}
}

// OPTIONS carries no credential, and no binding may list it.
func TestNoCredentialOnOptions(t *testing.T) {
	b := bindings(t)[1]
	b.Methods = []string{"GET", "OPTIONS"}
	if _, err := NewTable([]Binding{b}); err == nil {
		t.Error("a binding lists OPTIONS")
	}
	b.Methods = nil
	q := request(t, "api.example", "/v1/x")
	q.Method = "OPTIONS"
	if got := table(t, []Binding{b}).Judge(q); got.Action != Forward {
		t.Errorf("%v", got.Action)
	}
}
