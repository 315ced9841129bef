package mitm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

// noReflections holds that nothing that was given is taken for a reflection: three of
// those stop the jail's network.
func (l *lab) noReflections() {
	l.t.Helper()
	for _, e := range l.audit.all() {
		if e.Code == audit.CodeReflection {
			l.t.Errorf("a reflection is recorded: %s", e.Path)
		}
	}
}

// TestA63_AddressesShareWhatDoesNotAuthenticate: all that a role of AWS signs has the
// session's token in it, and all of a CloudFront key its number. Each address is kept.
func TestA63_AddressesShareWhatDoesNotAuthenticate(t *testing.T) {
	for _, shared := range []string{
		"X-Amz-Security-Token=IQoJb3JpZ2luX2VjEJr%2F%2F%2F%2F%2F&X-Amz-Signature=", "Key-Pair-Id=APKAIATXN3RCIOVT5WRQ&Signature=", "AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature=",
	} {
		signatures := []string{aSignature, strings.Repeat("0123456789abcdef", 4), strings.Repeat("02468ace13579bdf", 4)}
		var objects []string
		for i, s := range signatures {
			objects = append(objects, fmt.Sprintf(`{"actions":{"download":{"href":"https://store.test/o/%d?%s%s"}}}`, i, shared, s))
		}
		batch := `{"objects":[` + strings.Join(objects, ",") + `]}`
		l := capturingLab(t, answersOf("application/vnd.git-lfs+json", map[string]string{"/batch": batch}), "* store.test")
		l.earned = signatures
		store, ask := l.storage()
		_, body := l.ask(send("POST", "/batch", "Content-Length: 0"))
		all := placeholders.FindAllString(body, -1)
		if len(all) != len(signatures) {
			t.Fatalf("%s: %s", shared, body)
		}
		for i, ph := range all {
			ask(sendTo("store.test", "GET", fmt.Sprintf("/o/%d?%s", i, ph)))
		}
		if got := store.requestLines(); len(got) != 3 || got[2] != "GET /o/2?"+shared+signatures[2] {
			t.Errorf("the storage saw %q", got)
		}
		l.noReflections()
	}
}

// TestA63_ARedirectQuotesItsAddress in its body, as most servers' redirects do: that
// is no reflection.
func TestA63_ARedirectQuotesItsAddress(t *testing.T) {
	to := "https://store.test/o1?X-Amz-Date=1&X-Amz-Signature=" + aSignature
	l := capturingLab(t, func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, to, http.StatusFound) }, "GET store.test")
	l.earned = []string{aSignature}
	for range 4 {
		resp, body := l.ask(send("GET", "/blob"))
		if resp.StatusCode != 302 || !placeholders.MatchString(resp.Header.Get("Location")) || body != "" {
			t.Errorf("%d %v %q", resp.StatusCode, resp.Header, body)
		}
	}
	l.noReflections()
}

// TestA63_AddressesInEveryForm: those that are relative to the request, have no path,
// come as a second header, or are signed in the older way.
func TestA63_AddressesInEveryForm(t *testing.T) {
	for name, c := range map[string]struct {
		locations  []string
		want, use  string
		unfollowed bool
	}{
		"relative":   {[]string{"o1?sig=" + aSignature}, "https://good.test/a/o1?", "/a/o1?", false},
		"no path":    {[]string{"https://good.test?sig=" + aSignature}, "https://good.test/?", "/?", false},
		"two":        {[]string{"https://good.test/x", "https://good.test/o?sig=" + aSignature}, "", "", true},
		"older way":  {[]string{"https://good.test/o?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Expires=1&Signature=" + aSignature}, "https://good.test/o?", "/o?", false},
		"upper case": {[]string{"HTTPS://GOOD.test:443/o?sig=" + aSignature}, "https://GOOD.test:443/o?", "/o?", false},
	} {
		l := capturingLab(t, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/a/blob" {
				w.Header()["Location"] = c.locations
				w.WriteHeader(http.StatusFound)
			}
		})
		l.earned = []string{aSignature}
		resp, _ := l.ask(send("GET", "/a/blob"))
		if c.unfollowed { // the jail's client may take either
			if all := resp.Header["Location"]; len(all) != 2 || !placeholders.MatchString(all[1]) {
				t.Errorf("%s: %q", name, all)
			}
			continue
		}
		at, ph, _ := strings.Cut(resp.Header.Get("Location"), "?")
		if at+"?" != c.want || !placeholders.MatchString(ph) {
			t.Errorf("%s: %s?%s", name, at, ph)
			continue
		}
		l.ask(send("GET", c.use+ph))
		if got := l.good.requestLines(); !strings.HasSuffix(got[len(got)-1], "ignature="+aSignature) && !strings.HasSuffix(got[len(got)-1], "sig="+aSignature) {
			t.Errorf("%s: the upstream saw %q", name, got)
		}
	}
}

// TestA92_AnAnswerOfLFSWithoutABody, as to a verification or by 304, passes.
func TestA92_AnAnswerOfLFSWithoutABody(t *testing.T) {
	for _, status := range []int{200, 204, 304} {
		l := capturingLab(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
			w.WriteHeader(status)
		})
		if resp, body := l.ask(send("POST", "/verify", "Content-Length: 0")); resp.StatusCode != status || body != "" {
			t.Errorf("%d: %d %q", status, resp.StatusCode, body)
		}
	}
}

// TestA92_WhatCallsItselfLFSHasNoToken: a jail that asks for that type of content gets
// a token no more than by another; and clients take keys in any case.
func TestA92_WhatCallsItselfLFSHasNoToken(t *testing.T) {
	for _, body := range []string{
		`{"access_token":"` + aToken + `"}`,
		`{"a":[{"SessionToken":"` + aToken + `"}]}`,
		`{"header":{"Authorization":"Bearer ` + aToken + `"}}`,
		`{"Href":"https://good.test/","HEADER":{"AUTHORIZATION":"Bearer ` + aToken + `"}}`,
		`{"href":"https://good.test/","Header":{"Authorization":"Bearer ` + aToken + `"}}`,
		`{"\u0074oken":"` + aToken + `"}`,
		`{"href":"https://good.test/","header":{"Authorization":"` + aToken + `"},"token":"` + aToken + `"}`,
	} {
		l := capturingLab(t, answersOf("application/vnd.git-lfs+json", map[string]string{"/x": body}))
		_, got := l.ask(send("GET", "/x"))
		if !placeholders.MatchString(got) && !strings.Contains(got, strings.Repeat("*", len(aToken))) || strings.Contains(got, aToken) || !json.Valid([]byte(got)) {
			t.Errorf("%s became %s", body, got)
		}
	}
}

// TestA62_NoTokenInAnotherCharset: a jail that asks for UTF-16 gets a refusal in the
// place of tokens that are not found.
func TestA62_NoTokenInAnotherCharset(t *testing.T) {
	var wide strings.Builder
	for _, c := range `{"access_token":"` + aToken + `"}` {
		wide.WriteString("\x00" + string(c))
	}
	for _, how := range []Minting{MintingCapture, MintingMask, MintingAbort} {
		for _, kind := range []string{"application/json;charset=UTF-16BE", `application/json; x=y; Charset="utf-16"`, "text/xml; charset=IBM037"} {
			l := newLab(t, labOptions{answer: answersOf(kind, map[string]string{"/oauth": wide.String()}), config: func(c *Config) { c.OnMinted = how }})
			resp, body := l.ask(send("GET", "/oauth", "Accept: "+kind))
			if resp.StatusCode != 502 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeMintedToken) || strings.Contains(body, "\x00g\x00h\x00o") {
				t.Errorf("%s, %s: %d %q", how, kind, resp.StatusCode, body)
			}
		}
	}
}

// TestS18_AStorageDecidesNothingAtTheBoundHost: what a host answers that a captured token
// was sent to is good there alone. It may be the jail's owner, and the token another
// account's at the bound host, where foreign ones are denied.
func TestS18_AStorageDecidesNothingAtTheBoundHost(t *testing.T) {
	const theirs = "gho_theirTokenOfAnotherAccount0123456789"
	batch := `{"href":"https://store.test/o","header":{"Authorization":"Bearer ` + aToken + `"}}`
	for kind, body := range map[string]string{
		"application/json":             `{"access_token":"` + theirs + `"}`,
		"application/vnd.git-lfs+json": `{"href":"https://good.test/","header":{"Authorization":"Bearer ` + theirs + `"}}`,
	} {
		l := capturingLab(t, answersOf("application/vnd.git-lfs+json", map[string]string{"/batch": batch}), "* store.test")
		l.earned = []string{aToken}
		store, ask := l.storage()
		store.seen.then = answersOf(kind, map[string]string{"/o": body})
		_, answer := ask(sendTo("store.test", "GET", "/o", "Authorization: Bearer "+l.given("/batch")))
		if ph := placeholders.FindString(answer); ph != "" {
			if resp, _ := l.ask(send("GET", "/use", "Authorization: Bearer "+ph)); resp.StatusCode != 403 {
				t.Errorf("%s: %d", kind, resp.StatusCode)
			}
		}
		if got := l.good.authorizations("/use"); len(got) > 0 {
			t.Errorf("%s: the bound host was told %q", kind, got)
		}
	}
}

// TestA92_ACredentialThatIsHandedBack by an answer of git LFS for its own host, as GitLab
// does, is left out: it is attached there anyway.
func TestA92_ACredentialThatIsHandedBack(t *testing.T) {
	l := capturingLab(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
		fmt.Fprintf(w, `{"objects":[{"actions":{"download":{"href":"https://good.test/o","header":{"Authorization":%q,"X-Other":"kept"}}}}]}`, req.Header.Get("Authorization"))
	})
	for range 4 {
		if resp, body := l.ask(send("POST", "/a/b.git/info/lfs/objects/batch", "Content-Length: 0")); resp.StatusCode != 200 || body != `{"objects":[{"actions":{"download":{"header":{"X-Other":"kept"},"href":"https://good.test/o"}}}]}` {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
	l.noReflections()
	if _, body := l.ask(send("GET", "/echo")); !strings.Contains(body, "Bearer ****") {
		t.Errorf("an echo: %s", body)
	}
}

// TestA92_NoTokenWhereTheAddressIsUnclear, or not encrypted: asterisks, and no placeholder
// that would be good anywhere.
func TestA92_NoTokenWhereTheAddressIsUnclear(t *testing.T) {
	for _, address := range []string{
		`"href":"http://store.test/"`, `"href":"//store.test/"`, `"href":"/o"`, `"href":""`, `"href":"https:/\\store.test/"`, `"href":"https:store.test"`,
		`"href":"https://store.test:0443/"`, `"href":"https://st\u00f6re.test/"`, `"href":"https://store.test\\@good.test/"`, `"href":"https://[fe80::1%25eth0]/"`,
		`"HREF":"https://store.test/","href":"https://good.test/"`, `"href":"https://store.test/\r\nX: y"`,
	} {
		body := `{` + address + `,"header":{"Authorization":"Bearer ` + aToken + `"}}`
		l := capturingLab(t, answersOf("application/vnd.git-lfs+json", map[string]string{"/x": body}))
		if _, got := l.ask(send("GET", "/x")); placeholders.MatchString(got) || !strings.Contains(got, `"Bearer `+strings.Repeat("*", len(aToken))+`"`) {
			t.Errorf("%s: %s", address, got)
		}
		l.noReflections()
	}
}

// TestA62_AReplyFullOfTokens costs no more than its share: beyond a number tokens are
// masked.
func TestA62_AReplyFullOfTokens(t *testing.T) {
	var all strings.Builder
	for i := range 2 * maxMinted {
		fmt.Fprintf(&all, `,{"token":"%s%04d"},{"href":"https://good.test/o?sig=%032d"}`, aToken, i, i)
	}
	body := `[{}` + all.String() + `]`
	for kind, want := range map[string]int{"application/json": maxMinted, "application/vnd.git-lfs+json": maxMinted} {
		l := capturingLab(t, answersOf(kind, map[string]string{"/x": body}))
		if _, got := l.ask(send("GET", "/x")); len(placeholders.FindAllString(got, -1)) != want {
			t.Errorf("%s: %d placeholders", kind, len(placeholders.FindAllString(got, -1)))
		}
		l.noReflections()
	}
}

// TestA62_NoTokenByTheTypeOfContent: JSON in JavaScript, as the jail may ask for it, with
// a second type, or with none.
func TestA62_NoTokenByTheTypeOfContent(t *testing.T) {
	for _, kinds := range [][]string{
		nil, {""}, {"application/javascript; charset=utf-8"}, {"text/plain", "application/json"}, {"Application/Vnd.Api+JSON;x=y"}, {"application/x-ndjson"},
	} {
		l := capturingLab(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header()["Content-Type"] = kinds
			fmt.Fprintf(w, `/**/f({"access_token":%q})`, aToken)
		})
		l.given("/oauth?callback=f")
	}
}
