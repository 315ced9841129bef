package mitm

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
)

// TestA60_EventsAreNotDelayed sends each event after the one before has arrived, of
// either protocol, byte by byte too.
func TestA60_EventsAreNotDelayed(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).EnableFullDuplex()
		w.(http.Flusher).Flush()
		for lines := bufio.NewScanner(req.Body); lines.Scan(); {
			for _, b := range []byte("data: " + lines.Text() + "\n\n") {
				w.Write([]byte{b})
				w.(http.Flusher).Flush()
			}
		}
	}})
	for name, c := range map[string]*http.Client{"HTTP/1.1": l.client(l.addr), "HTTP/2": l.http2Client(l.addr)} {
		body, send := io.Pipe()
		resp, err := c.Post("https://good.test/", "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		events := bufio.NewReader(resp.Body)
		for _, word := range []string{"a", secretValue, "Bearer", secretValue[:20]} {
			fmt.Fprintln(send, word)
			got, err := events.ReadString('\n')
			if want := "data: " + strings.ReplaceAll(word, secretValue, strings.Repeat("*", len(secretValue))) + "\n"; err != nil || got != want {
				t.Errorf("%s: %q arrived as %q: %v", name, word, got, err)
			}
			events.ReadString('\n')
		}
		send.Close()
		resp.Body.Close()
	}
}

// TestA62_ATokenThatIsHandedBack: a git LFS server may answer with the caller's own
// credential, rendered anew. What it mints itself passes: K6 of the threat model.
func TestA62_ATokenThatIsHandedBack(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("oauth2:" + secretValue))
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, `{"objects":[{"actions":{"download":{"href":"https://s3.test/o?X-Amz-Signature=abc","header":{"Authorization":"Basic %s"}}}}]}`, basic)
	}})
	resp, body := l.ask(send("POST", "/x.git/info/lfs/objects/batch", "Content-Length: 0"))
	if resp.StatusCode != 200 || !strings.Contains(body, "****") || !strings.Contains(body, "X-Amz-Signature=abc") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestA66_QuestionsAboutASecret shows what no search of replies stops: the limit that
// the threat model names (K5). Methods and paths of rules and bindings do.
func TestA66_QuestionsAboutASecret(t *testing.T) {
	l := newLab(t, labOptions{
		binding: func(b *creds.Binding) { b.Targets[0].Path = "/api/**" },
		answer: func(w http.ResponseWriter, req *http.Request) {
			fmt.Fprint(w, strings.Contains(req.Header.Get("Authorization"), req.URL.Query().Get("contains")))
		},
	})
	for target, want := range map[string]string{"/api/x?contains=s3c": "true", "/api/x?contains=s3x": "false", "/x?contains=s3c": "false"} {
		if _, body := l.ask(send("GET", target)); body != want {
			t.Errorf("%s: %s", target, body)
		}
	}
}

// TestA68_RepliesWithoutEnd: a head without one is refused, a body ends with its client.
func TestA68_RepliesWithoutEnd(t *testing.T) {
	over := make(chan struct{})
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/head" {
			w.Header().Set("X", pad(maxReplyHeader))
			return
		}
		defer close(over)
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}})
	if resp, body := l.ask(send("GET", "/head")); resp.StatusCode != 502 {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	c := l.raw()
	io.WriteString(c, send("GET", "/body"))
	io.ReadFull(c.Conn, make([]byte, 1<<20))
	c.Close()
	<-over
}

// TestA69_NothingIsCached: two jails ask for what anybody may keep.
func TestA69_NothingIsCached(t *testing.T) {
	for range 2 {
		l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=3600")
			w.Header().Set("Vary", "*")
		}})
		for range 2 {
			l.ask(send("GET", "/"))
		}
		if n := len(l.good.all()); n != 2 {
			t.Errorf("two requests reached the upstream as %d", n)
		}
	}
}

// TestA71_WhatWeSayOurselves holds that no address is in the answer for an upstream
// that is not there.
func TestA71_WhatWeSayOurselves(t *testing.T) {
	l := newLab(t, labOptions{})
	l.upstream.Hosts["good.test:443"] = netip.MustParseAddrPort("127.0.0.1:1")
	resp, body := l.ask(send("GET", "/"))
	if text := fmt.Sprint(resp.Header, body); resp.StatusCode != 502 || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "refused:") || !strings.Contains(text, "connection_refused") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}
