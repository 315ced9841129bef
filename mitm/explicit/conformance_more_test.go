package explicit_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/lab"
)

func webSocket(t *testing.T, _ *lab.Upstream, j job) string {
	c := j.tls()
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience(j)))
	io.WriteString(c, "GET /ws HTTP/1.1\r\nHost: "+site+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	if head := readHead(t, c); !strings.HasPrefix(head, "HTTP/1.1 101 ") {
		return fmt.Sprintf("%.30q", head)
	}
	c.Write(append([]byte{0x81, 0x85, 0, 0, 0, 0}, "hello"...))
	back := make([]byte, 7)
	if _, err := io.ReadFull(c, back); err != nil || string(back[2:]) != "hello" {
		return fmt.Sprintf("%q %v", back, err)
	}
	return "yes"
}

// trailers sends one with the request and gets one with the reply.
func trailers(t *testing.T, _ *lab.Upstream, j job) string {
	req, err := http.NewRequest("POST", "https://"+site+"/trailers", struct{ io.Reader }{strings.NewReader("abc")})
	if err != nil {
		t.Fatal(err)
	}
	req.Trailer = http.Header{"X-Request-Sum": {"sum"}}
	resp, err := j.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if got := resp.Trailer.Get("X-Sum"); got != lab.Fingerprint("abc")+"sum" {
		return fmt.Sprintf("trailer %q", got)
	}
	return "yes"
}

// continues sends a body only when it is asked to.
func continues(t *testing.T, _ *lab.Upstream, j job) string {
	c := j.tls()
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience(j)))
	io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: "+site+"\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	if head := readHead(t, c); !strings.HasPrefix(head, "HTTP/1.1 100 ") {
		return fmt.Sprintf("%.30q", head)
	}
	io.WriteString(c, "hello")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != "hello" {
		return fmt.Sprintf("%q", b)
	}
	return "yes"
}

// flood sends a head without an end, and reports what it is told.
func flood(t *testing.T, _ *lab.Upstream, j job) string {
	c := j.tls()
	if j.raw != nil {
		c = j.raw() // the head of a CONNECT
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	go func() {
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+site+"\r\nX: ")
		for line := strings.Repeat("x", 64<<10); ; {
			if _, err := io.WriteString(c, line); err != nil {
				return
			}
		}
	}()
	head := readHead(t, c)
	return strings.Fields(head)[1]
}

// encodings asks what the upstream was told that the client can decode.
func encodings(t *testing.T, up *lab.Upstream, j job) string {
	up.Serve(site, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("Accept-Encoding")) }))
	req, err := http.NewRequest("GET", "https://"+site+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "zstd, gzip")
	resp, err := j.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	switch b, _ := io.ReadAll(resp.Body); string(b) {
	case "zstd, gzip":
		return "yes"
	case "":
		return "taken off"
	default:
		return string(b)
	}
}

// unreachable asks for an upstream that hangs up, and looks for the upstream's
// address in what the client is told.
func unreachable(t *testing.T, up *lab.Upstream, j job) string {
	up.Serve(site, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	resp, body := get(t, j.client, "https://"+site+"/")
	_, port, err := net.SplitHostPort(up.HTTPS().String())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(body, "EOF") || strings.Contains(body, port) {
		return "shown to the client"
	}
	return fmt.Sprint(resp.StatusCode)
}
