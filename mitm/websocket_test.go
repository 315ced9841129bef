package mitm

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

const wsKey = "dGhlIHNhbXBsZSBub25jZQ=="

// handshake is a client's, with more header lines.
func handshake(host string, more ...string) string {
	return "GET /ws HTTP/1.1\r\nHost: " + host + "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + wsKey + "\r\n" + strings.Join(append(more, ""), "\r\n") + "\r\n"
}

func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + webSocketGUID))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// accepts is an upstream that becomes a WebSocket and hands over its connection.
func accepts(then func(net.Conn, *bufio.ReadWriter), more ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: %s\r\n%s\r\n", acceptOf(req.Header.Get("Sec-WebSocket-Key")), strings.Join(append(more, ""), "\r\n"))
		rw.Flush()
		then(c, rw)
	}
}

func echo(c net.Conn, rw *bufio.ReadWriter) { io.Copy(c, rw) }

// echoFrames sends each frame back as servers send them: without a mask.
func echoFrames(c net.Conn, rw *bufio.ReadWriter) {
	for {
		var head [14]byte
		if _, err := io.ReadFull(rw, head[:2]); err != nil {
			return
		}
		n, more := uint64(head[1]&0x7f), map[byte]int{126: 2, 127: 8}[head[1]&0x7f]
		io.ReadFull(rw, head[2:2+more+4])
		if more > 0 {
			n = 0
			for _, b := range head[2 : 2+more] {
				n = n<<8 | uint64(b)
			}
		}
		payload := make([]byte, n)
		io.ReadFull(rw, payload)
		for i := range payload {
			payload[i] ^= head[2+more+i%4]
		}
		head[1] &^= 0x80
		c.Write(append(head[:2+more], payload...))
	}
}

// unmasked is a frame of a client's as its echo.
func unmasked(frame []byte, more int) []byte {
	out := append([]byte{frame[0], frame[1] &^ 0x80}, frame[2:2+more]...)
	for i, b := range frame[2+more+4:] {
		out = append(out, b^frame[2+more+i%4])
	}
	return out
}

var webSocketRules = []egress.Rule{{Host: "good.test", Port: 443, WebSocket: true}, {Host: "evil.test", Port: 443}}

func newWebSocketLab(t *testing.T, answer http.HandlerFunc) *lab {
	return newLab(t, labOptions{
		answer: answer, config: withRules(webSocketRules), binding: func(b *creds.Binding) { b.WebSocket = true },
	})
}

// join sends a handshake and wants a 101.
func (l *lab) join(more ...string) (net.Conn, *bufio.Reader) {
	l.t.Helper()
	c := l.raw()
	io.WriteString(c, handshake("good.test", more...))
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	if resp.StatusCode != 101 || resp.Header.Get("Sec-WebSocket-Accept") != acceptOf(wsKey) || resp.Header.Get("Upgrade") != "websocket" {
		l.t.Fatalf("reply %d %v", resp.StatusCode, resp.Header)
	}
	return c, br
}

// TestWebSocket carries frames of every kind both ways, a credential on the
// handshake, and no compression.
func TestWebSocket(t *testing.T) {
	l := newWebSocketLab(t, accepts(echoFrames, "Set-Cookie: session=1", "Sec-WebSocket-Protocol: chat"))
	c, br := l.join("Sec-WebSocket-Extensions: permessage-deflate", "Sec-WebSocket-Protocol: chat, superchat")
	for _, tt := range []struct {
		frame []byte
		more  int // bytes of length behind the second
	}{
		{[]byte{0x81, 0x85, 1, 2, 3, 4, 'h' ^ 1, 'e' ^ 2, 'l' ^ 3, 'l' ^ 4, 'o' ^ 1}, 0},
		{[]byte{0x89, 0x80, 0, 0, 0, 0}, 0},                                                             // ping
		{[]byte{0x02, 0x80, 0, 0, 0, 0}, 0},                                                             // a message begins, with nothing
		{[]byte{0x8a, 0x80, 0, 0, 0, 0}, 0},                                                             // pong, inside it
		{append([]byte{0x80, 0xfe, 0x04, 0, 9, 8, 7, 6}, bytes.Repeat([]byte{3}, 1<<10)...), 2},         // and ends
		{append([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 0, 0x40, 0, 9, 8, 7, 6}, make([]byte, 16<<10)...), 8}, // a length that is longer than it has to be
		{[]byte{0x88, 0x82, 0, 0, 0, 0, 3, 232}, 0},                                                     // close
	} {
		want := unmasked(tt.frame, tt.more)
		switch {
		case tt.frame[0] == 2:
			want = nil // nothing goes on before something is there
		case tt.frame[0] == 0x80:
			want[0] = 0x82 // the first that goes on
		case tt.more == 8:
			want = append([]byte{0x82, 126, 0x40, 0}, want[10:]...)
		}
		got := make([]byte, len(want))
		go c.Write(tt.frame)
		if _, err := io.ReadFull(br, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%x… came back as %x…: %v", tt.frame[:2], got[:min(4, len(got))], err)
		}
	}
	c.Close()
	req := l.good.all()[0]
	if req.Header.Get("Authorization") != "Bearer "+secretValue || req.Header.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("the upstream saw %v", req.Header)
	}
	if strings.Contains(l.heard.String(), "Set-Cookie") {
		t.Error("a cookie of the login reached the jail")
	}
	e := l.audit.await(t, ended, func(e Event) bool { return e.Status == 101 })
	if e.BytesIn < 17<<10 || e.BytesOut < 17<<10 || e.Binding != 0 {
		t.Errorf("recorded %+v", e)
	}
}

// TestS19_WebSocketNeedsTwoWords tries each rule and credential that do not open it.
func TestS19_WebSocketNeedsTwoWords(t *testing.T) {
	bound := func(b *creds.Binding) { b.WebSocket = false }
	for name, o := range map[string]labOptions{
		"no rule opens it":     {},
		"the credential not":   {config: withRules(webSocketRules), binding: bound},
		"a rule for elsewhere": {unbound: true, config: withRules([]egress.Rule{{Host: "good.test", Port: 443}, {Host: "evil.test", Port: 443, WebSocket: true}})},
		"another path": {unbound: true, config: withRules([]egress.Rule{
			{Host: "good.test", Port: 443}, {Host: "good.test", Port: 443, Path: "/other", WebSocket: true}})},
	} {
		t.Run(name, func(t *testing.T) {
			o.answer = accepts(echo)
			l := newLab(t, o)
			resp, body := l.ask(handshake("good.test"))
			if resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeUpgrade) {
				t.Errorf("reply %d %s", resp.StatusCode, body)
			}
			if l.good.accepted() > 0 {
				t.Error("the upstream was dialled")
			}
		})
	}
}

// TestWebSocketHandshakes tries what is nearly a handshake, from either side.
func TestWebSocketHandshakes(t *testing.T) {
	valid := handshake("good.test")
	for name, raw := range map[string]string{
		"POST":            strings.Replace(valid, "GET", "POST", 1),
		"HTTP/1.0":        strings.Replace(valid, "HTTP/1.1", "HTTP/1.0", 1),
		"a body":          strings.Replace(valid, "Upgrade: w", "Content-Length: 3\r\nUpgrade: w", 1),
		"chunks":          strings.Replace(valid, "Upgrade: w", "Transfer-Encoding: chunked\r\nUpgrade: w", 1),
		"another version": strings.Replace(valid, "13", "8", 1),
		"a short key":     strings.Replace(valid, wsKey, "AAAA", 1),
		"two keys":        strings.Replace(valid, "Upgrade: w", "Sec-WebSocket-Key: "+wsKey+"\r\nUpgrade: w", 1),
		"no Connection":   strings.Replace(valid, "keep-alive, Upgrade", "keep-alive", 1),
		"two protocols":   strings.Replace(valid, "websocket", "websocket, irc", 1),
		"another":         strings.Replace(valid, "websocket", "irc", 1),
	} {
		t.Run("jail/"+name, func(t *testing.T) {
			l := newWebSocketLab(t, accepts(echo))
			if resp, body := l.ask(raw); resp.StatusCode != 400 && resp.StatusCode != 403 {
				t.Errorf("reply %d %s", resp.StatusCode, body)
			}
			if l.good.accepted() > 0 {
				t.Error("the upstream was dialled")
			}
		})
	}
	head := "HTTP/1.1 101 Switching Protocols\r\n"
	good := "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + acceptOf(wsKey) + "\r\n"
	for name, reply := range map[string]string{
		"the wrong key":        head + strings.Replace(good, acceptOf(wsKey), acceptOf("other"), 1),
		"no key":               head + "Upgrade: websocket\r\nConnection: Upgrade\r\n",
		"another protocol":     head + strings.Replace(good, "websocket", "h2c", 1),
		"no Connection":        head + strings.Replace(good, "Connection: Upgrade\r\n", "", 1),
		"an extension":         head + good + "Sec-WebSocket-Extensions: permessage-deflate\r\n",
		"a subprotocol":        head + good + "Sec-WebSocket-Protocol: chat\r\n",
		"interim without end":  strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 6) + head + good,
		"a head without end":   head + good + "X: " + pad(70<<10),
		"something else again": "SSH-2.0-x\r\n",
	} {
		t.Run("upstream/"+name, func(t *testing.T) {
			l := newWebSocketLab(t, func(w http.ResponseWriter, req *http.Request) {
				c, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				defer c.Close()
				io.WriteString(c, reply+"\r\n"+secretValue)
			})
			if resp, body := l.ask(handshake("good.test")); resp.StatusCode != 502 {
				t.Errorf("reply %d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestWebSocketRefusedByTheUpstream passes the upstream's own answer.
func TestWebSocketRefusedByTheUpstream(t *testing.T) {
	l := newWebSocketLab(t, func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(401)
		io.WriteString(w, "who are you")
	})
	if resp, body := l.ask(handshake("good.test")); resp.StatusCode != 401 || body != "who are you" {
		t.Errorf("reply %d %q", resp.StatusCode, body)
	}
}

// TestWebSocketEndsByHalves ends one direction and goes on in the other.
func TestWebSocketEndsByHalves(t *testing.T) {
	l := newLab(t, labOptions{unbound: true, config: withRules(webSocketRules), answer: accepts(func(c net.Conn, rw *bufio.ReadWriter) {
		all, _ := io.ReadAll(rw)
		for range 3 {
			fmt.Fprintf(c, "got %s\n", all)
		}
	})})
	c, br := l.join()
	io.WriteString(c, "all of it")
	c.(tappedConn).Conn.(duplex).CloseWrite()
	if rest, err := io.ReadAll(br); err != nil || string(rest) != strings.Repeat("got all of it\n", 3) {
		t.Errorf("%q %v", rest, err)
	}
}

// TestWebSocketEnds cuts it when the jail's network is stopped, when the proxy
// ends, and when either side breaks off.
func TestWebSocketEnds(t *testing.T) {
	for name, end := range map[string]func(*lab, net.Conn){
		"freeze":        func(l *lab, _ net.Conn) { l.proxy.Freeze() },
		"close":         func(l *lab, _ net.Conn) { l.proxy.Close() },
		"the jail dies": func(_ *lab, c net.Conn) { c.(tappedConn).Conn.(interface{ NetConn() net.Conn }).NetConn().Close() },
	} {
		t.Run(name, func(t *testing.T) {
			over := make(chan struct{})
			l := newWebSocketLab(t, accepts(func(c net.Conn, rw *bufio.ReadWriter) {
				defer close(over)
				echoFrames(c, rw)
			}))
			c, br := l.join()
			io.WriteString(c, "\x89\x80\x00\x00\x00\x00")
			if b, err := br.ReadString(0); err != nil || b != "\x89\x00" {
				t.Fatal(b, err)
			}
			end(l, c)
			<-over
			if _, err := br.ReadByte(); err == nil || isTimeout(err) {
				t.Errorf("the jail's side goes on: %v", err)
			}
		})
	}
}

// TestWebSocketMayBeSilent holds that no read of a tunnel has a deadline until one
// side has ended.
func TestWebSocketMayBeSilent(t *testing.T) {
	jail, jailEnd := newRecordedPipe()
	up, upEnd := newRecordedPipe()
	over := make(chan struct{})
	go func() {
		tun := &tunnel{jail: jail, up: up, fromJail: jail, heed: func(int) {}}
		tun.carry()
		close(over)
	}()
	for range 3 {
		go io.WriteString(jailEnd, "ping")
		io.ReadFull(upEnd, make([]byte, 4))
		go io.WriteString(upEnd, "pong")
		io.ReadFull(jailEnd, make([]byte, 4))
	}
	if jail.limited() || up.limited() {
		t.Error("a read had a deadline while both sides were there")
	}
	jailEnd.Close()
	<-up.closedWrite
	if !up.limited() {
		t.Error("the side that is left has no deadline")
	}
	upEnd.Close()
	<-over
}

// recordedPipe is one end of a pipe that remembers deadlines.
type recordedPipe struct {
	net.Conn
	deadline    chan time.Time
	closedWrite chan struct{}
}

func newRecordedPipe() (recordedPipe, net.Conn) {
	a, b := net.Pipe()
	return recordedPipe{a, make(chan time.Time, 1), make(chan struct{}, 1)}, b
}

func (p recordedPipe) limited() bool { return len(p.deadline) > 0 }

func (p recordedPipe) SetReadDeadline(t time.Time) error {
	select {
	case p.deadline <- t:
	default:
	}
	return nil
}

func (p recordedPipe) CloseWrite() error {
	p.closedWrite <- struct{}{}
	return nil
}
