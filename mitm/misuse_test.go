package mitm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// The attacks A01 to A17: a placeholder where it does not belong. Each ends with
// the lab's oracle.

const strange = "oa_cred_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" // in no table

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestA01_AnotherAllowedHost(t *testing.T) {
	l := newLab(t, labOptions{})
	l.each(t, []try{{"bearer", sendTo("evil.test", "GET", "/", "Authorization: Bearer "+l.placeholder()), 403, audit.CodePlaceholder, "evil.test"}})
}

func TestA02_UnknownPlaceholder(t *testing.T) {
	var bodies []string
	for _, unbound := range []bool{false, true} {
		t.Run(fmt.Sprintf("without credentials %v", unbound), func(t *testing.T) {
			l := newLab(t, labOptions{unbound: unbound})
			for _, p := range []string{strange, "oa_cred_" + strings.Repeat("0", 72)} {
				resp, body := l.ask(send("GET", "/", "Authorization: Bearer "+p))
				if resp.StatusCode != 403 {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
				bodies = append(bodies, strings.ReplaceAll(body, resp.Header.Get("X-Omnijail-Id"), "ID"))
			}
			if l.good.accepted() > 0 {
				t.Error("the upstream was dialled")
			}
		})
	}
	for _, b := range bodies {
		if b != bodies[0] {
			t.Errorf("two answers tell placeholders apart:\n%s%s", bodies[0], b)
		}
	}
}

func TestA03_AnotherJailsPlaceholder(t *testing.T) {
	a, b := newLab(t, labOptions{}), newLab(t, labOptions{})
	b.each(t, []try{{"jail A's", send("GET", "/", "Authorization: Bearer "+a.placeholder()), 403, audit.CodePlaceholder, ""}})
	a.each(t, []try{{"jail B's", send("GET", "/", "Authorization: Bearer "+b.placeholder()), 403, audit.CodePlaceholder, ""}})
}

func TestA04_OtherSurfaces(t *testing.T) {
	l := newLab(t, labOptions{})
	ph := l.placeholder()
	var tries []try
	for _, host := range []string{"good.test", "evil.test"} {
		for name, raw := range map[string]string{
			"query": sendTo(host, "GET", "/?t="+ph), "query name": sendTo(host, "GET", "/?"+ph+"=1"), "path": sendTo(host, "GET", "/"+ph),
			"cookie": sendTo(host, "GET", "/", "Cookie: a=1; t="+ph), "x-api-key": sendTo(host, "GET", "/", "X-Api-Key: "+ph),
			"proxy-authorization": sendTo(host, "GET", "/", "Proxy-Authorization: Basic "+b64("a:"+ph)),
			"referer":             sendTo(host, "GET", "/", "Referer: https://"+host+"/"+ph), "user-agent": sendTo(host, "GET", "/", "User-Agent: x/"+ph),
			"header name": sendTo(host, "GET", "/", "X-"+ph+": 1"), "host": sendTo(ph+"."+host, "GET", "/"),
			"hop-by-hop": sendTo(host, "GET", "/", "Connection: x-hop", "X-Hop: "+ph), "forwarded": sendTo(host, "GET", "/", "X-Forwarded-For: "+ph),
			"te": sendTo(host, "GET", "/", "TE: "+ph), "http2-settings": sendTo(host, "GET", "/", "HTTP2-Settings: "+ph),
		} {
			a := try{host + " " + name, raw, 403, audit.CodePlaceholder, host}
			if name == "host" {
				a.status, a.code = 400, audit.CodeBadRequest // too long for a label
			}
			tries = append(tries, a)
		}
	}
	l.each(t, tries)
}

// basicLab binds a Basic credential.
func basicLab(t *testing.T) *lab {
	return newLab(t, labOptions{binding: func(b *creds.Binding) {
		b.Type, b.Username, b.Targets[0].Scheme = creds.Basic, "bot", creds.SchemeBasic
	}})
}

func TestA05_BasicIsSwappedWholeOrNotAtAll(t *testing.T) {
	l := basicLab(t)
	ph := l.placeholder()
	var tries []try
	for name, pair := range map[string]string{
		"user name": ph + ":x", "user name alone": ph, "behind x": "user:x" + ph, "before x": "user:" + ph + "x", "both": ph + ":" + ph,
	} {
		tries = append(tries, try{name, send("GET", "/no", "Authorization: Basic "+b64(pair)), 403, audit.CodePlaceholder, ""})
	}
	tries = append(tries, try{"exact", send("GET", "/yes", "Authorization: Basic "+b64("user:"+ph)), 200, "", ""})
	l.each(t, tries, "GET /yes")
	if got := l.good.all()[0].Header.Get("Authorization"); got != "Basic "+b64("bot:"+secretValue) {
		t.Errorf("the upstream saw %q", got)
	}
}

func TestA06_BasicInOddBase64(t *testing.T) {
	l := basicLab(t)
	pair := "user:" + l.placeholder()
	wide := func(s string) string {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return string(b)
	}
	std := b64(pair)
	tries := []try{
		{"double", send("GET", "/no", "Authorization: Basic "+b64(std)), 403, audit.CodePlaceholder, ""},
		{"UTF-16", send("GET", "/no", "Authorization: Basic "+b64(wide(pair))), 403, audit.CodePlaceholder, ""},
		{"in another header", send("GET", "/no", "X-A: "+std), 403, audit.CodePlaceholder, ""},
		{"shifted by one", send("GET", "/no", "X-A: "+b64("x"+l.placeholder())), 403, audit.CodePlaceholder, ""},
		{"shifted by two", send("GET", "/no", "X-A: "+b64("xx"+l.placeholder())), 403, audit.CodePlaceholder, ""},
	}
	swapped := []string{std, strings.TrimRight(std, "="), base64.URLEncoding.EncodeToString([]byte(pair)), "  " + std + "\t", std[:20] + " " + std[20:]}
	var lines []string
	for i, v := range swapped {
		tries = append(tries, try{fmt.Sprint("exact ", i), send("GET", "/yes", "Authorization: Basic "+v), 200, "", ""})
		lines = append(lines, "GET /yes")
	}
	l.each(t, tries, lines...)
	for _, req := range l.good.all() {
		if got := req.Header.Get("Authorization"); got != "Basic "+b64("bot:"+secretValue) {
			t.Errorf("the upstream saw %q", got)
		}
	}
}

func TestA07_SchemesInAnyCase(t *testing.T) {
	l := newLab(t, labOptions{})
	ph := l.placeholder()
	l.each(t, []try{
		{"case", send("GET", "/1", "Authorization: bEaReR "+ph), 200, "", ""},
		{"two blanks", send("GET", "/2", "Authorization: Bearer  "+ph), 200, "", ""},
		{"tab", send("GET", "/3", "Authorization:\tBearer\t"+ph+"\t"), 200, "", ""},
		{"folded", send("GET", "/4", "Authorization: Bearer", " "+ph), 400, audit.CodeBadRequest, ""},
		{"without scheme", send("GET", "/5", "Authorization: "+ph), 403, audit.CodePlaceholder, ""},
	}, "GET /1", "GET /2", "GET /3")
	for _, req := range l.good.all() {
		if got := req.Header.Get("Authorization"); got != "Bearer "+secretValue {
			t.Errorf("%s: the upstream saw %q", req.RequestURI, got)
		}
	}
}

func TestA08_OtherSchemes(t *testing.T) {
	l := newLab(t, labOptions{})
	ph := l.placeholder()
	var tries []try
	for _, v := range []string{
		`Digest username="u", response="` + ph + `"`, "Negotiate " + ph, "Negotiate " + b64(ph), `Token token="` + ph + `"`,
		"AWS4-HMAC-SHA256 Credential=" + ph + "/20260101/us-east-1/s3/aws4_request", "Bearer x, Bearer " + ph, "Bearer " + ph + " x",
	} {
		tries = append(tries, try{v[:12], send("GET", "/", "Authorization: "+v), 403, audit.CodePlaceholder, ""})
	}
	l.each(t, tries)
}

func TestA09_EscapedMarkers(t *testing.T) {
	l := newLab(t, labOptions{})
	rest := strings.TrimPrefix(l.placeholder(), "oa_cred_")
	every := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, "%%%02x", s[i])
		}
		return b.String()
	}
	var tries []try
	for _, m := range []string{"%6fa_cred_", "OA_CRED_", "oA_CrEd_", "%4f%41_cred_", "oa%5fcred%5F", "%256fa_cred_", every("oa_cred_"), every(every("oa_")) + "cred_"} {
		for _, target := range []string{"/?t=" + m + rest, "/" + m + rest} {
			tries = append(tries, try{target[:12], send("GET", target), 403, audit.CodePlaceholder, ""})
		}
	}
	l.each(t, tries)
}

// TestA10_Fragments pins what is harmless: pieces are not put together, and what
// reaches the upstream is worth nothing there.
func TestA10_Fragments(t *testing.T) {
	l := newLab(t, labOptions{unbound: true})
	ph := "oa_cred_" + strings.Repeat("0", 72)
	l.each(t, []try{
		{"two headers", send("GET", "/", "X-A: "+ph[:5], "X-B: "+ph[5:]), 200, "", ""},
		{"header and body", send("POST", "/", "X-A: "+ph[:20], fmt.Sprint("Content-Length: ", len(ph)-20)) + ph[20:], 200, "", ""},
	}, "GET /", "POST /")
	if l.recorded(audit.CodePlaceholder) > 0 {
		t.Errorf("recorded %+v", l.audit.all())
	}
	if h := l.good.all()[0].Header; h.Get("X-A")+h.Get("X-B") != ph || h.Get("Authorization") != "" {
		t.Errorf("the upstream saw %v", h)
	}
}

func TestA11_InTheBody(t *testing.T) {
	packed := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, s)
		z.Close()
		return b.String()
	}
	byteChunks := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, "1\r\n%c\r\n", s[i])
		}
		return b.String() + "0\r\n\r\n"
	}
	for _, deny := range []bool{false, true} {
		t.Run(fmt.Sprintf("deny %v", deny), func(t *testing.T) {
			l := newLab(t, labOptions{config: func(c *Config) { c.BodyDeny = deny }, answer: func(w http.ResponseWriter, req *http.Request) {
				io.Copy(io.Discard, req.Body)
			}})
			ph := l.placeholder()
			form := url.Values{"token": {ph}}.Encode()
			status, code := 200, audit.Code("")
			if deny {
				status, code = 403, audit.CodePlaceholder
			}
			tries := []try{
				{"form", send("POST", "/", fmt.Sprint("Content-Length: ", len(form))) + form, status, code, ""},
				{"json, byte by byte", send("POST", "/", "Transfer-Encoding: chunked") + byteChunks(`{"t":"`+ph+`"}`), status, code, ""},
				// Opened by nobody on the way, and worth nothing where it is opened.
				{"gzip", send("POST", "/", "Content-Encoding: gzip", fmt.Sprint("Content-Length: ", len(packed(ph)))) + packed(ph), 200, "", ""},
			}
			for _, a := range tries {
				resp, body := l.ask(a.raw)
				if resp.StatusCode != a.status || resp.Header.Get("X-Omnijail-Code") != string(a.code) {
					t.Errorf("%s: %d %s", a.name, resp.StatusCode, body)
				}
			}
			l.audit.await(t, ended, func(e Event) bool { return e.Code == audit.CodePlaceholder })
			if strings.Contains(l.good.text(), secretValue) != strings.Contains(l.good.text(), "Bearer "+secretValue) {
				t.Error("the secret stands elsewhere than in its header")
			}
		})
	}
}

func TestA12_TwoAuthorizations(t *testing.T) {
	l := newLab(t, labOptions{})
	l.each(t, []try{
		{"real first", send("GET", "/", "Authorization: Bearer real", "Authorization: Bearer "+l.placeholder()), 400, audit.CodeBadRequest, ""},
		{"placeholder first", send("GET", "/", "Authorization: Bearer "+l.placeholder(), "authorization: Bearer real"), 400, audit.CodeBadRequest, ""},
	})
}

// TestA13_EmptyAuthorization pins that an empty header counts as none.
func TestA13_EmptyAuthorization(t *testing.T) {
	l := newLab(t, labOptions{})
	l.each(t, []try{
		{"empty", send("GET", "/1", "Authorization:"), 200, "", ""},
		{"blanks", send("GET", "/2", "Authorization:  \t "), 200, "", ""},
	}, "GET /1", "GET /2")
	for _, req := range l.good.all() {
		if got := req.Header["Authorization"]; len(got) != 1 || got[0] != "Bearer "+secretValue {
			t.Errorf("the upstream saw %q", got)
		}
	}
}

func TestA14_ItsOwnCredential(t *testing.T) {
	for foreign, want := range map[creds.Foreign]struct {
		status int
		code   audit.Code
		sent   string
	}{
		creds.ForeignForward: {200, "", "Bearer mine"},
		creds.ForeignStrip:   {200, "", "Bearer " + secretValue},
		creds.ForeignDeny:    {403, audit.CodeForeign, ""},
	} {
		t.Run(string(foreign), func(t *testing.T) {
			l := newLab(t, labOptions{binding: func(b *creds.Binding) { b.Foreign = foreign }})
			var lines []string
			if want.sent != "" {
				lines = []string{"GET /"}
			}
			l.each(t, []try{{"own", send("GET", "/", "Authorization: Bearer mine"), want.status, want.code, ""}}, lines...)
			if want.sent != "" {
				if got := l.good.all()[0].Header.Get("Authorization"); got != want.sent {
					t.Errorf("the upstream saw %q", got)
				}
				if e := l.audit.all()[0]; e.Decision != audit.Allow || e.Code != audit.CodeClientCredential {
					t.Errorf("recorded %+v", e)
				}
			}
		})
	}
}

// TestA15_MetadataAndTrailers tries both protocols. What a jail says in the frames of a
// WebSocket is not read; TestS19_WebSocketNeedsTwoWords holds when one is opened at all.
func TestA15_MetadataAndTrailers(t *testing.T) {
	l := newLab(t, labOptions{http2: true, answer: func(w http.ResponseWriter, req *http.Request) { io.Copy(io.Discard, req.Body) }})
	ph := l.placeholder()
	h := l.dialHTTP2(l.addr, "good.test")
	as := func(f []string) []string { f[5] = "good.test"; return f }
	h.request(1, true, as(post("/lab.Echo/Talk", "x-metadata-bin", b64(ph)))...)
	if o := h.await(1); o.status != "403" || o.code != string(audit.CodePlaceholder) {
		t.Errorf("metadata: %+v", o)
	}
	h.request(3, false, as(post("/lab.Echo/Talk", "trailer", "x-mine", "te", "trailers"))...)
	h.must(h.fr.WriteData(3, false, []byte("abc")))
	h.request(3, true, "x-mine", ph)
	if o := h.await(3); o.status != "403" {
		t.Errorf("trailers of HTTP/2: %+v", o)
	}
	resp, body := l.ask(send("POST", "/", "Transfer-Encoding: chunked", "Trailer: X-Mine") + "3\r\nabc\r\n0\r\nX-Mine: " + ph + "\r\n\r\n")
	if resp.StatusCode != 403 {
		t.Errorf("trailers of HTTP/1.1: %d %s", resp.StatusCode, body)
	}
	if strings.Contains(l.good.text(), ph) {
		t.Error("a placeholder reached the upstream")
	}
}

// TestA16_Guessing holds that guesses are bounded, and that the first is the last
// where the policy says so.
func TestA16_Guessing(t *testing.T) {
	for _, freeze := range []bool{false, true} {
		t.Run(fmt.Sprintf("freeze %v", freeze), func(t *testing.T) {
			l := newLab(t, labOptions{config: func(c *Config) { c.Freeze = freeze }})
			c := l.raw()
			defer c.Close()
			br := bufio.NewReader(c)
			answers := map[string]int{}
			for i := range 2 * refusalBurst {
				io.WriteString(c, send("GET", "/", fmt.Sprintf("Authorization: Bearer oa_cred_%072x", i)))
				resp, _ := readReply(t, br, nil)
				answers[resp.Header.Get("X-Omnijail-Code")]++
			}
			if answers[string(audit.CodeFlood)] == 0 || freeze && answers[string(audit.CodePlaceholder)] != 1 {
				t.Errorf("answers %v", answers)
			}
			if n := len(l.audit.all()); n > refusalBurst+refusalRate*20 {
				t.Errorf("%d records", n)
			}
			if l.good.accepted() > 0 {
				t.Error("the upstream was dialled")
			}
		})
	}
}

func TestA17_TraceAndOptions(t *testing.T) {
	l := newLab(t, labOptions{})
	ph := l.placeholder()
	l.each(t, []try{
		{"TRACE", send("TRACE", "/"), 405, audit.CodeMethod, ""},
		{"TRACE, placeholder", send("TRACE", "/", "Authorization: Bearer "+ph), 405, audit.CodeMethod, ""},
		{"TRACE, Max-Forwards", send("TRACE", "/", "Max-Forwards: 0"), 405, audit.CodeMethod, ""},
		{"OPTIONS, placeholder", send("OPTIONS", "/", "Authorization: Bearer "+ph), 403, audit.CodePlaceholder, ""},
		{"OPTIONS *", send("OPTIONS", "*"), 400, audit.CodeBadRequest, ""},
		{"OPTIONS", send("OPTIONS", "/plain"), 200, "", ""},
	}, "OPTIONS /plain")
	if got := l.good.all()[0].Header.Get("Authorization"); got != "" {
		t.Errorf("OPTIONS went with %q", got)
	}
}
