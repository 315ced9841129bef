package mitm

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

// TestPinned_MaxForwards asks what the tests of an earlier proxy pin about it. TRACE is
// refused whatever it says, and so no echo of ours exists; on other methods it is a
// header like any.
func TestPinned_MaxForwards(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, req.Header.Get("Authorization") != "")
	}})
	for _, n := range []string{"", "Max-Forwards: 0", "Max-Forwards: 5", "Max-Forwards: x", "Max-Forwards: -1"} {
		lines := strings.Fields(strings.ReplaceAll(n, ": ", ":"))
		if resp, body := l.ask(send("TRACE", "/", append(lines, "Cookie: a=1")...)); resp.StatusCode != 405 || strings.Contains(body, "a=1") {
			t.Errorf("TRACE %s: %d %s", n, resp.StatusCode, body)
		}
		if _, body := l.ask(send("OPTIONS", "/", lines...)); body != "false" {
			t.Errorf("OPTIONS %s carried a credential: %s", n, body)
		}
		if _, body := l.ask(send("GET", "/", lines...)); body != "true" {
			t.Errorf("GET %s carried a credential: %s", n, body)
		}
	}
	for _, req := range l.good.all() {
		if req.Method == "TRACE" {
			t.Error("a TRACE arrived")
		}
	}
}

// TestPinned_QueriesAreNotRecorded: what a client writes behind the question mark is
// often a secret of its own. No record and no answer has it.
func TestPinned_QueriesAreNotRecorded(t *testing.T) {
	l := newLab(t, labOptions{config: withRules(mustRules(t, "GET good.test/ok", "GET http://good.test/ok", "* evil.test"))})
	const query = "?access_token=hunter2hunter2&x=1"
	var answers strings.Builder
	for _, target := range []string{"/ok" + query, "/no" + query, "/ok/%2e%2e/x" + query, "/ok" + query + "\x01"} {
		resp, body := l.ask(send("GET", target))
		fmt.Fprint(&answers, resp.Header, body)
	}
	l.ask(sendTo("other.test", "GET", "/ok"+query))
	l.audit.await(t, ended, func(e Event) bool { return e.Path == "/ok" && e.Code == audit.CodeAllowed })
	l.audit.mu.Lock()
	defer l.audit.mu.Unlock()
	if text := fmt.Sprintf("%+v %+v %s %s", l.audit.opened, l.audit.ended, l.logged.String(), answers.String()); strings.Contains(text, "hunter2") {
		t.Errorf("it is recorded: %s", text)
	}
}

// TestPinned_HostsWithoutACredential keep what a search would take from them: codings,
// ranges and digests arrive as the client asked for them.
func TestPinned_HostsWithoutACredential(t *testing.T) {
	l := newLab(t, labOptions{unbound: true, answer: func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Range") != "" {
			w.Header().Set("Content-Range", "bytes 0-1/9")
			w.WriteHeader(http.StatusPartialContent)
			io.WriteString(w, "ab")
			return
		}
		w.Header().Set("Content-Encoding", req.Header.Get("Accept-Encoding"))
		w.Header().Set("Grpc-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "coded")
		z.Close()
	}})
	resp, body := l.ask(send("GET", "/", "Accept-Encoding: gzip"))
	if resp.Header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(body, "\x1f\x8b") || resp.StatusCode != 200 {
		t.Errorf("%d %v %q", resp.StatusCode, resp.Header, body)
	}
	if resp, body := l.ask(send("GET", "/", "Range: bytes=0-1")); resp.StatusCode != 206 || body != "ab" {
		t.Errorf("a part: %d %q", resp.StatusCode, body)
	}
}
