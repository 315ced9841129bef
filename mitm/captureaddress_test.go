package mitm

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

const aSignature = "fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024"

// storage adds an upstream that a reply of good.test's sends the jail to.
func (l *lab) storage() (w *wiretap, ask func(raw string) (*http.Response, string)) {
	w = &wiretap{}
	w.serve(l.rig, "store.test:443", nil, false)
	addr := l.serve("store.test:443", &w.seen)
	return w, func(raw string) (*http.Response, string) {
		c := tappedConn{l.dialTLS(addr, "store.test"), l.heard}
		defer c.Close()
		return l.say(c, raw)
	}
}

// TestA63_ASignedAddressIsGoodAsItIs: a redirect to a signed address gets a placeholder
// for its query, which is put back in that very address and is refused in any other.
func TestA63_ASignedAddressIsGoodAsItIs(t *testing.T) {
	query := "X-Amz-Date=20260101T000000Z&X-Amz-Signature=" + aSignature
	l := capturingLab(t, answersOf("", map[string]string{"/blob": "Location: https://store.test/b/o1?" + query}), "GET store.test/b/**")
	l.earned = []string{aSignature}
	store, ask := l.storage()
	ph := l.given("/blob")
	if resp, _ := ask(sendTo("store.test", "GET", "/b/o1?"+ph)); resp.StatusCode != 200 {
		t.Errorf("the address: %d", resp.StatusCode)
	}
	if e := l.audit.await(t, ended, func(e Event) bool { return e.Path == "/blob" }); e.Code != audit.CodeCaptured {
		t.Errorf("recorded as %s", e.Code)
	}
	for name, raw := range map[string]string{
		"another path":      sendTo("store.test", "GET", "/b/o2?"+ph),
		"more in the query": sendTo("store.test", "GET", "/b/o1?"+ph+"&a=b"),
		"as a header":       sendTo("store.test", "GET", "/b/o1", "Authorization: Bearer "+ph),
		"beside another":    sendTo("store.test", "GET", "/b/o1?"+ph, "X-Token: "+l.placeholder()),
		"a second mark":     sendTo("store.test", "GET", "/b/o1??"+ph),
		"spelled":           sendTo("store.test", "GET", "/b/o1?%6f"+ph[1:]),
		"in capitals":       sendTo("store.test", "GET", "/b/o1?"+strings.ToUpper(ph)),
		"as a field":        sendTo("store.test", "GET", "/b/o1?q="+ph),
		"with parameters":   sendTo("store.test", "GET", "/b/o1;a=b?"+ph),
		"twice":             sendTo("store.test", "GET", "/b/o1?"+ph, "Authorization: Bearer "+ph),
		"cut":               sendTo("store.test", "GET", "/b/o1?"+ph[:len(ph)-1]),
	} {
		if resp, _ := ask(raw); resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodePlaceholder) {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	if resp, _ := ask(sendTo("store.test", "GET", "/b/o1?"+ph, "X-Original-URL: /b/o2")); resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeMethod) {
		t.Errorf("with another path beside it: %d", resp.StatusCode)
	}
	if resp, _ := ask(sendTo("store.test", "PUT", "/b/o1?"+ph)); resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeNoRule) {
		t.Errorf("a method that no rule allows: %d", resp.StatusCode)
	}
	c := l.to("evil.test")
	defer c.Close()
	if resp, _ := l.say(c, sendTo("evil.test", "GET", "/b/o1?"+ph)); resp.StatusCode != 403 {
		t.Errorf("another host: %d", resp.StatusCode)
	}
	if got := store.requestLines(); fmt.Sprint(got) != "[GET /b/o1?"+query+"]" {
		t.Errorf("the storage saw %q", got)
	}
}

// TestA63_ASignatureThatIsQuotedIsMasked: a storage that explains what it refuses.
func TestA63_ASignatureThatIsQuotedIsMasked(t *testing.T) {
	l := capturingLab(t, answersOf("", map[string]string{"/blob": "Location: https://store.test/o?sv=1&sig=" + aSignature}), "GET store.test")
	l.earned = []string{aSignature}
	store, ask := l.storage()
	store.seen.then = func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, "<SignatureProvided>%s</SignatureProvided>", req.URL.Query().Get("sig"))
	}
	if _, body := ask(sendTo("store.test", "GET", "/o?"+l.given("/blob"))); body != "<SignatureProvided>"+strings.Repeat("*", len(aSignature))+"</SignatureProvided>" {
		t.Errorf("%q", body)
	}
}

// TestA92_TokensOfLFSGoWhereTheAnswerSays: each action's header is good at the host of
// its own address alone, and a signed address as it is; what is not encrypted gets none.
func TestA92_TokensOfLFSGoWhereTheAnswerSays(t *testing.T) {
	batch := `{"objects":[{"oid":"1","size":12345678901234567,"actions":{` +
		`"download":{"header":{"Authorization":"Basic ` + aToken + `","X-Other":"kept"},"href":"https://store.test/o/1"},` +
		`"upload":{"href":"https://store.test/u/1?X-Amz-Signature=` + aSignature + `"},` +
		`"verify":{"href":"http://store.test/v","header":{"authorization":"RemoteAuth ` + aToken + `"}}}}]}`
	l := capturingLab(t, answersOf("application/vnd.git-lfs+json; charset=utf-8", map[string]string{"/lfs/objects/batch": batch}), "* store.test")
	l.earned = []string{aToken, aSignature}
	store, ask := l.storage()
	_, body := l.ask(send("POST", "/lfs/objects/batch", "Content-Length: 0"))
	all := placeholders.FindAllString(body, -1)
	if len(all) != 2 || !strings.Contains(body, `"size":12345678901234567`) || !strings.Contains(body, `"X-Other":"kept"`) ||
		!strings.Contains(body, `"RemoteAuth `+strings.Repeat("*", len(aToken))+`"`) {
		t.Fatalf("the answer: %s", body)
	}
	token, address := all[0], all[1]
	if resp, _ := ask(sendTo("store.test", "GET", "/o/1", "Authorization: Basic "+token)); resp.StatusCode != 200 {
		t.Errorf("the download: %d", resp.StatusCode)
	}
	if resp, _ := ask(sendTo("store.test", "PUT", "/u/1?"+address, "Content-Length: 0")); resp.StatusCode != 200 {
		t.Errorf("the upload: %d", resp.StatusCode)
	}
	if resp, _ := l.ask(send("GET", "/o/1", "Authorization: Basic "+token)); resp.StatusCode != 403 {
		t.Errorf("at the host that gave it: %d", resp.StatusCode)
	}
	if got := store.authorizations("/o/1"); fmt.Sprint(got) != "[Basic "+aToken+"]" {
		t.Errorf("the storage was told %q", got)
	}
	if got := store.requestLines(); fmt.Sprint(got) != "[GET /o/1 PUT /u/1?X-Amz-Signature="+aSignature+"]" {
		t.Errorf("the storage saw %q", got)
	}
}

// TestA92_AnAnswerOfLFSThatCannotBeReadIsRefused.
func TestA92_AnAnswerOfLFSThatCannotBeReadIsRefused(t *testing.T) {
	for name, body := range map[string]string{"broken": `{"objects":[`, "too long": `{"x":"` + strings.Repeat("x", maxLFS) + `"}`} {
		l := capturingLab(t, answersOf("application/vnd.git-lfs+json", map[string]string{"/batch": body}))
		if resp, _ := l.ask(send("GET", "/batch")); resp.StatusCode != 502 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeMintedToken) {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}

// TestA63_WhatAHostAnswersUnsearchedEnds when it is going to be told a token: the answer
// could have that in it.
func TestA63_WhatAHostAnswersUnsearchedEnds(t *testing.T) {
	l := capturingLab(t, answersOf("", map[string]string{"/blob": "Location: https://store.test/o?sig=" + aSignature}), "GET store.test")
	l.earned = []string{aSignature}
	store, _ := l.storage()
	store.seen.then = func(w http.ResponseWriter, req *http.Request) {
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}
	c := tappedConn{l.dialTLS(l.open("store.test:443"), "store.test"), l.heard}
	defer c.Close()
	io.WriteString(c, sendTo("store.test", "GET", "/stream"))
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.given("/blob")
	if _, err := io.ReadAll(resp.Body); err == nil || isTimeout(err) {
		t.Errorf("the stream: %v", err)
	}
	if e := l.audit.await(t, ended, func(e Event) bool { return e.Path == "/stream" }); e.Decision != audit.Deny {
		t.Errorf("recorded as %s %s", e.Decision, e.Code)
	}
}
