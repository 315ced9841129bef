package mitm

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// answersOf has a lab's good.test answer each path with what it is to hold, as this
// type of content.
func answersOf(contentType string, bodies map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if at, ok := strings.CutPrefix(bodies[req.URL.Path], "Location: "); ok {
			w.Header().Set("Location", at)
			w.WriteHeader(http.StatusFound)
			return
		}
		io.WriteString(w, bodies[req.URL.Path])
	}
}

// ends holds what the record of the end of a request for path says.
func (l *lab) ends(t *testing.T, path string, want audit.Code) {
	t.Helper()
	if resp, body := l.ask(send("GET", path)); resp.StatusCode >= 400 {
		t.Fatalf("%s: %d %s", path, resp.StatusCode, body)
	}
	if e := l.audit.await(t, ended, func(e Event) bool { return e.Path == path }); e.Code != want || e.Decision != audit.Allow {
		t.Errorf("%s is recorded as %s %s, want %s", path, e.Decision, e.Code, want)
	}
}

// TestA62_MintedTokensAreRecorded: what an upstream mints for a request that carried
// a credential reaches the jail (K6), and the record of that request says so.
func TestA62_MintedTokensAreRecorded(t *testing.T) {
	for kind, bodies := range map[string]map[string]string{
		"application/json; charset=utf-8": {
			"/oauth":    `{"access_token":"gho_16C7e42F292c6912E7710c838347Ae178B4a","token_type":"bearer"}`,
			"/refresh":  `{ "refresh_token" : "ghr_1B4a2e77838347a7E420ce178F2E7c69" }`,
			"/oidc":     `{"id_token":"eyJhbGciOiJSUzI1NiJ9.e30.c2ln"}`,
			"/app":      `{"token":"ghs_16C7e42F292c6912E7710c838347Ae178B4a","expires_at":"2016-07-11T22:14:10Z"}`,
			"/registry": `{"token":"eyJhbGciOiJSUzI1NiJ9.e30.c2ln","expires_in":300}`,
			"/sts":      `{"Credentials":{"AccessKeyId":"ASIA","SecretAccessKey":"wJalrXUtnFEMI","SessionToken":"IQoJb3JpZ2lu"}}`,
			"/key":      `{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\nMIIE"}`,
		},
		"application/vnd.git-lfs+json":      {"/lfs": `{"objects":[{"actions":{"download":{"header":{"Authorization":"RemoteAuth minted"}}}}]}`},
		"text/xml":                          {"/sts.xml": "<SecretAccessKey>wJalrXUtnFEMI</SecretAccessKey>"},
		"application/x-www-form-urlencoded": {"/oauth.form": "scope=repo&access_token=gho_16C7e42F292c6912E7710c838347Ae178B4a"},
	} {
		l := newLab(t, labOptions{answer: answersOf(kind, bodies)})
		for path := range bodies {
			l.ends(t, path, audit.CodeMintedToken)
		}
	}
}

// TestA62_WhatIsNotMinted keeps the mark for what it stands for.
func TestA62_WhatIsNotMinted(t *testing.T) {
	bodies := map[string]string{
		"/user":   `{"login":"mona","token":"","url":"https://good.test/tokens","authorizations_url":"x"}`,
		"/null":   `{"access_token":null,"id_token":""}`,
		"/late":   `{"pad":"` + strings.Repeat("x", mintedLook) + `","access_token":"beyond what is looked at"}`,
		"/search": `{"html":"how to send an \"access_token\": a guide"}`,
	}
	l := newLab(t, labOptions{answer: answersOf("application/json", bodies)})
	for path := range bodies {
		l.ends(t, path, audit.CodeAllowed)
	}
	binary := newLab(t, labOptions{answer: answersOf("application/octet-stream", map[string]string{"/blob": `{"access_token":"x1"}`})})
	binary.ends(t, "/blob", audit.CodeAllowed)
	unbound := newLab(t, labOptions{unbound: true, answer: answersOf("application/json", map[string]string{"/own": `{"access_token":"x1"}`})})
	unbound.ends(t, "/own", audit.CodeAllowed) // the jail's own login
}

// TestA62_ItsOwnTokenIsNoMintedOne: a reply with the caller's own credential is
// masked, and recorded as a reflection alone.
func TestA62_ItsOwnTokenIsNoMintedOne(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q}`, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
	}})
	l.ends(t, "/", audit.CodeReflection)
}

// TestA63_AddressesThatAuthenticate: a signed address in a reply, in its body or as
// where to go next, is recorded as one. The jail may use it, by whatever rule allows
// its host.
func TestA63_AddressesThatAuthenticate(t *testing.T) {
	bodies := map[string]string{
		"/s3":         `{"href":"https://b.s3.test/o?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=abc"}`,
		"/escaped":    `{"href":"https://b.s3.test/o?X-Amz-Date=1\u0026X-Amz-Signature=abc"}`,
		"/gcs":        `{"href":"https://storage.test/o?X-Goog-Signature=abc"}`,
		"/cdn":        `{"href":"https://cdn.test/o?Signature=abc&Key-Pair-Id=K2"}`,
		"/azure":      `{"href":"https://blob.test/o?se=2026-01-01&sig=abc%3D"}`,
		"/redirect":   "Location: https://blob.test/o?sv=1&sig=abc%3D",
		"/redirected": "Location: https://b.s3.test/o?X-Amz-Signature=abc",
	}
	l := newLab(t, labOptions{answer: answersOf("application/json", bodies), binding: func(b *creds.Binding) { b.Foreign = creds.ForeignForward }})
	for path := range bodies {
		l.ends(t, path, audit.CodeBearerURL)
	}
	plain := map[string]string{"/design": `{"href":"https://x.test/?design=a&sign=b&sig="}`, "/next": "Location: https://x.test/?q=X-Amz-Signature"}
	quiet := newLab(t, labOptions{answer: answersOf("application/json", plain)})
	for path := range plain {
		quiet.ends(t, path, audit.CodeAllowed)
	}
}

// withheldAt is a reply in pieces of n bytes, masked.
func withheldAt(body string, n int) string {
	w := &withheld{ReadCloser: io.NopCloser(strings.NewReader(body))}
	var out strings.Builder
	for buf := make([]byte, n); ; {
		m, err := w.Read(buf)
		out.Write(buf[:m])
		if err != nil {
			return out.String()
		}
	}
}

// TestA62_TokensAreMaskedInAnyPieces: whatever pieces a reply comes in, no byte of a
// token goes by, everything else does, and its length stays.
func TestA62_TokensAreMaskedInAnyPieces(t *testing.T) {
	for body, want := range map[string]string{
		`{"access_token":"gho_abc","scope":"repo"}`:              `{"access_token":"*******","scope":"repo"}`,
		`{ "id_token" : "a\"b\\" , "x":"y","refresh_token":"r"}`: `{ "id_token" : "******" , "x":"y","refresh_token":"*"}`,
		`{"token":"ж"}`: `{"token":"**"}`,
		`{"token":"","token2":"stays","token":null,"token":"t"}`:                                        `{"token":"","token2":"stays","token":null,"token":"*"}`,
		`<a><SecretAccessKey>k/+</SecretAccessKey><SessionToken>s</SessionToken></a>`:                   `<a><SecretAccessKey>***</SecretAccessKey><SessionToken>*</SessionToken></a>`,
		"scope=a&access_token=gho&refresh_token=ghr\n&x=1":                                              "scope=a&access_token=***&refresh_token=***\n&x=1",
		`[` + strings.Repeat(`{"name":"x"},`, 100) + `{"token":"` + strings.Repeat("t", 1000) + `"}]`:   `[` + strings.Repeat(`{"name":"x"},`, 100) + `{"token":"` + strings.Repeat("*", 1000) + `"}]`,
		`{"html":"how to send an \"access_token\": a guide","url":"https://x.test/?access_token=kept"}`: `{"html":"how to send an \"access_token\": a guide","url":"https://x.test/?access_token=kept"}`,
	} {
		for _, n := range []int{1, 2, 3, 7, 16, 255, 256, 257, 4096} {
			if got := withheldAt(body, n); got != want {
				t.Errorf("in pieces of %d: %q, want %q", n, got, want)
			}
		}
	}
}

// TestA62_MintedTokensAreWithheld by what the policy says, and recorded all the same.
func TestA62_MintedTokensAreWithheld(t *testing.T) {
	const token = "gho_16C7e42F292c6912E7710c838347Ae178B4a"
	minting := func(m Minting, answer http.HandlerFunc) *lab {
		return newLab(t, labOptions{answer: answer, config: func(c *Config) { c.OnMinted = m }, rules: []string{"* good.test"}})
	}
	body := `{"access_token":"` + token + `","token_type":"bearer"}`
	oauth := answersOf("application/json", map[string]string{"/oauth": body, "/plain": `{"login":"mona"}`})
	streamed := func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		oauth(w, req)
	}
	for name, answer := range map[string]http.HandlerFunc{"whole": oauth, "streamed": streamed} {
		for _, m := range []Minting{MintingMask, MintingAbort} {
			l := minting(m, answer)
			if _, plain := l.ask(send("GET", "/plain")); plain != `{"login":"mona"}` {
				t.Errorf("%s, %s: a reply without a token: %q", name, m, plain)
			}
			c := l.raw()
			io.WriteString(c, send("GET", "/oauth", "Connection: close"))
			all, _ := io.ReadAll(c)
			got := string(all)
			if strings.Contains(got, token[:8]) {
				t.Errorf("%s, %s: the token arrives: %q", name, m, got)
			}
			switch {
			case m == MintingMask && !strings.Contains(got, strings.Replace(body, token, strings.Repeat("*", len(token)), 1)),
				m == MintingAbort && name == "whole" && !strings.HasPrefix(got, "HTTP/1.1 502 "):
				t.Errorf("%s, %s: %q", name, m, got)
			}
			e := l.audit.await(t, ended, func(e Event) bool { return e.Path == "/oauth" })
			if e.Code != audit.CodeMintedToken || (e.Decision == audit.Deny) != (m == MintingAbort) {
				t.Errorf("%s, %s: recorded %+v", name, m, e)
			}
		}
	}
}

// TestA62_NoPartsOfAReplyWithATokenInIt: a range would begin behind its name.
func TestA62_NoPartsOfAReplyWithATokenInIt(t *testing.T) {
	rules := mustRules(t, "* good.test")
	rules[0].Range = true
	ranged := ""
	l := newLab(t, labOptions{
		config: func(c *Config) { withRules(rules)(c); c.OnMinted = MintingMask },
		answer: func(w http.ResponseWriter, req *http.Request) { ranged += req.Header.Get("Range") },
	})
	l.ask(send("GET", "/", "Range: bytes=20-40"))
	if ranged != "" {
		t.Errorf("the upstream was asked for %q", ranged)
	}
}
