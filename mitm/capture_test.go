package mitm

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// aToken is what the upstreams of these tests give for the credential.
const aToken = "gho_16C7e42F292c6912E7710c838347Ae178B4a"

var placeholders = regexp.MustCompile(`[A-Za-z_-]*oa_cred_[0-9a-f]{72}`)

// capturingLab is a lab whose policy captures what replies give.
func capturingLab(t *testing.T, answer http.HandlerFunc, rules ...string) *lab {
	t.Helper()
	l := newLab(t, labOptions{
		rules: rules, answer: answer, config: func(c *Config) { c.OnMinted = MintingCapture },
		binding: func(b *creds.Binding) { b.Foreign = creds.ForeignDeny },
	})
	l.earned = []string{aToken}
	return l
}

// given is the one placeholder in what the jail gets for path.
func (l *lab) given(path string) string {
	l.t.Helper()
	resp, body := l.ask(send("GET", path))
	all := placeholders.FindAllString(body+" "+resp.Header.Get("Location"), -1)
	if len(all) != 1 || resp.StatusCode >= 400 {
		l.t.Fatalf("%s: %d %s, with %d placeholders", path, resp.StatusCode, body, len(all))
	}
	return all[0]
}

// authorizations are what an upstream was told at a path, in order.
func (s *seen) authorizations(path string) (out []string) {
	for _, req := range s.all() {
		if req.URL.Path == path {
			out = append(out, req.Header.Get("Authorization"))
		}
	}
	return out
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// TestA62_ACapturedTokenWorksAtItsHost: of each kind of endpoint the jail gets a
// placeholder, the placeholder works as the token would, and the end of the reply is
// recorded as captured.
func TestA62_ACapturedTokenWorksAtItsHost(t *testing.T) {
	for kind, bodies := range map[string]map[string]string{
		"application/json": {
			"/oauth":    `{"access_token":"` + aToken + `","token_type":"bearer"}`,
			"/refresh":  `{ "refresh_token" : "` + aToken + `" , "n":1}`,
			"/app":      `{"token":"` + aToken + `","expires_at":"2016-07-11T22:14:10Z"}`,
			"/escaped":  `{"token":"` + strings.Replace(aToken, "_", `\u005f`, 1) + `"}`,
			"/nested":   `{"a":[{"b":{"id_token":"` + aToken + `"}}]}`,
			"/prefixed": `{"header":{"Authorization":"RemoteAuth ` + aToken + `"}}`,
		},
		"text/xml": {"/sts.xml": "<SessionToken>" + aToken + "</SessionToken>"},
		"application/x-www-form-urlencoded": {
			"/form": "scope=repo&access_token=" + aToken, "/field": "access_token=" + aToken + "&scope=repo",
		},
	} {
		l := capturingLab(t, answersOf(kind, bodies))
		for path, body := range bodies {
			ph := l.given(path)
			for _, value := range []string{"Bearer %s", "token %s", basic("oauth2", "%s"), "RemoteAuth %s"} {
				want := fmt.Sprintf(value, aToken)
				says := fmt.Sprintf(value, ph)
				if strings.HasPrefix(value, "Basic") {
					want, says = basic("oauth2", aToken), basic("oauth2", ph)
				}
				l.ask(send("GET", "/use"+path, "Authorization: "+says))
				if got := l.good.authorizations("/use" + path); got[len(got)-1] != want {
					t.Errorf("%s: %q became %q, want %q", path, says, got[len(got)-1], want)
				}
			}
			if e := l.audit.await(t, ended, func(e Event) bool { return e.Path == path }); e.Code != audit.CodeCaptured || e.Decision != audit.Allow {
				t.Errorf("%s is recorded as %s %s", path, e.Decision, e.Code)
			}
			if _, again := l.ask(send("GET", path)); strings.Replace(again, ph, aToken, 1) != strings.ReplaceAll(body, `\u005f`, "_") {
				t.Errorf("%s: the rest of the reply: %s", path, again)
			}
		}
	}
}

// TestA62_ACapturedTokenIsWorthlessElsewhere: at another host, in another place of a
// request, twice, changed, or from another jail.
func TestA62_ACapturedTokenIsWorthlessElsewhere(t *testing.T) {
	oauth := answersOf("application/json", map[string]string{"/oauth": `{"access_token":"` + aToken + `"}`})
	l := capturingLab(t, oauth)
	other, err := creds.NewTable([]creds.Binding{l.table.Binding(0)})
	if err != nil {
		t.Fatal(err)
	}
	token, err := creds.NewSecret([]byte(aToken))
	if err != nil {
		t.Fatal(err)
	}
	ph, theirs := l.given("/oauth"), ""
	if theirs, _ = other.Capture(0, token); theirs == "" {
		t.Fatal("the other jail has none")
	}
	deny := func(name, raw string) try { return try{name: name, raw: raw, status: 403, code: audit.CodePlaceholder} }
	l.each(t, []try{
		{name: "another host", raw: sendTo("evil.test", "GET", "/", "Authorization: Bearer "+ph), status: 403, code: audit.CodePlaceholder, host: "evil.test"},
		deny("another jail's", send("GET", "/", "Authorization: Bearer "+theirs)),
		deny("the query", send("GET", "/?access_token="+ph)),
		deny("the whole query", send("GET", "/?"+ph)),
		deny("the path", send("GET", "/"+ph)),
		deny("a cookie", send("GET", "/", "Cookie: t="+ph)),
		deny("another header", send("GET", "/", "X-Token: "+ph)),
		deny("a second header", send("GET", "/", "Authorization: Bearer "+ph, "X-Token: "+ph)),
		{name: "two values", raw: send("GET", "/", "Authorization: Bearer "+ph, "Authorization: Bearer "+ph), status: 400, code: audit.CodeBadRequest},
		deny("beside the other placeholder", send("GET", "/", "Authorization: Bearer "+ph, "X-Token: "+l.placeholder())),
		deny("cut", send("GET", "/", "Authorization: Bearer "+ph[:len(ph)-1])),
		deny("more than it", send("GET", "/", "Authorization: Bearer "+ph+"x")),
		deny("in another case", send("GET", "/", "Authorization: Bearer "+strings.ToUpper(ph))),
		deny("as the user", send("GET", "/", "Authorization: "+basic(ph, "x"))),
		deny("as both", send("GET", "/", "Authorization: "+basic(ph, ph))),
		{name: "with another path beside it", raw: send("GET", "/", "Authorization: Bearer "+ph, "X-Original-URL: /admin"), status: 403, code: audit.CodeMethod},
	}, "GET /oauth")
}

// TestA62_ACapturedTokenStaysInReplies: an upstream that says it again is masked.
func TestA62_ACapturedTokenStaysInReplies(t *testing.T) {
	l := capturingLab(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/oauth" {
			answersOf("application/json", map[string]string{"/oauth": `{"access_token":"` + aToken + `"}`})(w, req)
			return
		}
		fmt.Fprintf(w, "you are %s", req.Header.Get("Authorization"))
	})
	ph := l.given("/oauth")
	if _, body := l.ask(send("GET", "/echo", "Authorization: Bearer "+ph)); body != "you are Bearer "+strings.Repeat("*", len(aToken)) {
		t.Errorf("%q", body)
	}
}

// TestA62_WhoHasNoCredentialIsGivenTokens: the jail's own login is its own affair.
func TestA62_WhoHasNoCredentialIsGivenTokens(t *testing.T) {
	body := `{"access_token":"` + aToken + `"}`
	l := newLab(t, labOptions{
		unbound: true, answer: answersOf("application/json", map[string]string{"/oauth": body}),
		config: func(c *Config) { c.OnMinted = MintingCapture },
	})
	if _, got := l.ask(send("GET", "/oauth")); got != body {
		t.Errorf("%q", got)
	}
}

// TestA62_ACapturedTokenEndsWithItsBinding: when a policy takes the place that has no
// such binding, the placeholder is an unknown one; where it stays, so does the token.
func TestA62_ACapturedTokenEndsWithItsBinding(t *testing.T) {
	l := capturingLab(t, answersOf("application/json", map[string]string{"/oauth": `{"access_token":"` + aToken + `"}`}))
	ph := l.given("/oauth")
	use := func() int {
		resp, _ := l.ask(send("GET", "/use", "Authorization: Bearer "+ph))
		return resp.StatusCode
	}
	with := func(bindings []creds.Binding, values map[int]int) {
		t.Helper()
		p := l.policyOf(l.proxy.now().Generation+1, mustRules(t, "* good.test", "* evil.test"))
		table, err := p.Table.Next(bindings, values)
		if err != nil {
			t.Fatal(err)
		}
		p.Table = table
		l.replace(p)
	}
	with([]creds.Binding{l.table.Binding(0)}, map[int]int{0: 0})
	if got := use(); got != 200 {
		t.Errorf("where the binding stays: %d", got)
	}
	with(nil, nil)
	if got := use(); got != 403 {
		t.Errorf("where it is gone: %d", got)
	}
	if got := l.good.authorizations("/use"); !slices.Equal(got, []string{"Bearer " + aToken}) {
		t.Errorf("the upstream was told %q", got)
	}
}

// captured is a reply in pieces of n bytes, with what keep returns for its tokens.
func capturedAt(body io.Reader, n int, keep func(string) string) (string, error) {
	c := &capturing{ReadCloser: io.NopCloser(body), keep: keep}
	var out strings.Builder
	_, err := io.CopyBuffer(struct{ io.Writer }{&out}, struct{ io.Reader }{c}, make([]byte, n))
	return out.String(), err
}

// TestA62_TokensAreCapturedInAnyPieces: whatever pieces a reply comes in.
func TestA62_TokensAreCapturedInAnyPieces(t *testing.T) {
	for body, want := range map[string]string{
		`{"access_token":"gho_abc","scope":"repo"}`:                                                   `{"access_token":"<gho_abc>","scope":"repo"}`,
		`{ "id_token" : "a\"b\\" , "x":"y","refresh_token":"r"}`:                                      `{ "id_token" : "<a"b\>" , "x":"y","refresh_token":"<r>"}`,
		`{"token":"a","token":"b"}{"token":"c"}`:                                                      `{"token":"<a>","token":"<b>"}{"token":"<c>"}`,
		`{"token":"a\/b\u002fc"}`:                                                                     `{"token":"<a/b/c>"}`,
		`<a><SecretAccessKey>k&amp;+</SecretAccessKey><SessionToken>s</SessionToken></a>`:             `<a><SecretAccessKey><k&+></SecretAccessKey><SessionToken><s></SessionToken></a>`,
		"scope=a&access_token=g%2Bh&refresh_token=ghr\n&x=1":                                          "scope=a&access_token=<g+h>&refresh_token=<ghr>\n&x=1",
		"access_token=last":                                                                           "access_token=<last>",
		`[` + strings.Repeat(`{"name":"x"},`, 100) + `{"token":"` + strings.Repeat("t", 1000) + `"}]`: `[` + strings.Repeat(`{"name":"x"},`, 100) + `{"token":"<` + strings.Repeat("t", 1000) + `>"}]`,
	} {
		for _, n := range []int{1, 2, 7, 255, 4096} {
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(body), "by bytes": iotest.OneByteReader(strings.NewReader(body))} {
				got, err := capturedAt(r, n, func(s string) string { return "<" + s + ">" })
				if got != want || err != nil {
					t.Errorf("%s, to pieces of %d: %q %v, want %q", name, n, got, err, want)
				}
			}
		}
	}
}

// TestA62_NoPartOfALongTokenGoesBy: a token without an end, or one that is too long to
// be kept, ends the reply.
func TestA62_NoPartOfALongTokenGoesBy(t *testing.T) {
	for name, body := range map[string]string{
		"too long": `{"token":"` + strings.Repeat("t", creds.MaxCaptured+1) + `"}`,
		"endless":  `{"token":"` + strings.Repeat("t", 100),
	} {
		got, _ := capturedAt(strings.NewReader(body), 64, func(string) string { t.Errorf("%s: kept", name); return "" })
		if got != `{"token":"` {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestA62_AnEchoDoesNotChooseWhereASecretGoes: an answer that looks like git LFS's, or
// like a login, with what the request carried in it, binds none of that to another
// place: it is the placeholder that it was, or masked.
func TestA62_AnEchoDoesNotChooseWhereASecretGoes(t *testing.T) {
	l := capturingLab(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/oauth" {
			answersOf("application/json", map[string]string{"/oauth": `{"access_token":"` + aToken + `"}`})(w, req)
			return
		}
		w.Header().Set("Content-Type", req.Header.Get("X-Type"))
		_, carried, _ := strings.Cut(req.Header.Get("Authorization"), " ")
		w.Header().Set("Location", "https://evil.test/?sig="+carried)
		w.WriteHeader(http.StatusFound)
		fmt.Fprintf(w, `{"href":"https://evil.test/","token":%q,"header":{"Authorization":%q}}`, carried, req.Header.Get("Authorization"))
	})
	ph := l.given("/oauth")
	for _, kind := range []string{"application/json", "application/vnd.git-lfs+json"} {
		resp, body := l.ask(send("GET", "/echo", "X-Type: "+kind, "Authorization: Bearer "+ph))
		found := placeholders.FindAllString(resp.Header.Get("Location")+body, -1)
		if slices.ContainsFunc(found, func(s string) bool { return s != ph }) || !strings.Contains(resp.Header.Get("Location"), "**********") {
			t.Errorf("%s: %v %s", kind, resp.Header, body)
		}
	}
}

// TestA62_ItsOwnSecretIsNotCaptured: the same for the credential itself.
func TestA62_ItsOwnSecretIsNotCaptured(t *testing.T) {
	l := capturingLab(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
		fmt.Fprintf(w, `{"href":"https://evil.test/","header":{"Authorization":%q}}`, req.Header.Get("Authorization"))
	})
	if _, body := l.ask(send("GET", "/echo")); placeholders.MatchString(body) || !strings.Contains(body, "**********") {
		t.Errorf("%s", body)
	}
}

// FuzzCapturing: whatever a reply is, and in whatever pieces it comes, the jail gets the
// same, and no token that was kept.
func FuzzCapturing(f *testing.F) {
	f.Add([]byte(`{"token":"abcdef","x":1,"id_token":"a\"b"}`), 3)
	f.Add([]byte("access_token=abc&refresh_token=d\n<SessionToken>x</SessionToken>"), 1)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		keep := func(string) string { return "*" }
		whole, err := capturedAt(strings.NewReader(string(body)), 4096, keep)
		pieces, perr := capturedAt(iotest.OneByteReader(strings.NewReader(string(body))), 1+(n&0xff), keep)
		if whole != pieces || (err == nil) != (perr == nil) {
			t.Errorf("%q %v whole, %q %v in pieces", whole, err, pieces, perr)
		}
		if again := mintedToken.FindString(whole); again != "" && err == nil {
			t.Errorf("%q is left in %q", again, whole)
		}
	})
}
