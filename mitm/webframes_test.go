package mitm

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
)

// TestS19_FramesOfAWebSocket has a server send the secret in one frame, across
// fragments with a ping in between, in a ping, and in the text of a close.
func TestS19_FramesOfAWebSocket(t *testing.T) {
	half := len(secretValue) / 2
	a, b := secretValue[:half], secretValue[half:]
	frame := func(first byte, payload string) string { return string([]byte{first, byte(len(payload))}) + payload }
	stars := func(s string) string { return strings.Repeat("*", len(s)) }
	for name, tt := range map[string]struct{ sent, want string }{
		"one frame":    {frame(0x81, "t="+secretValue+"."), frame(0x81, "t="+stars(secretValue)+".")},
		"fragments":    {frame(0x01, "t="+a) + frame(0x89, "hi") + frame(0x80, b+"."), frame(0x01, "t=") + frame(0x89, "hi") + frame(0x80, stars(secretValue)+".")},
		"a ping":       {frame(0x89, secretValue), frame(0x89, stars(secretValue))},
		"a close":      {frame(0x88, "\x03\xe8"+secretValue), frame(0x88, "\x03\xe8"+stars(secretValue))},
		"two messages": {frame(0x81, a) + frame(0x81, "x"), frame(0x81, a) + frame(0x81, "x")},
	} {
		t.Run(name, func(t *testing.T) {
			l := newWebSocketLab(t, accepts(func(c net.Conn, _ *bufio.ReadWriter) { io.WriteString(c, tt.sent) }))
			c, br := l.join()
			got, _ := io.ReadAll(br)
			if string(got) != tt.want {
				t.Errorf("%q\nwant %q", got, tt.want)
			}
			c.Close()
		})
	}
}

// TestS19_GuessesOverAWebSocket: each answer counts.
func TestS19_GuessesOverAWebSocket(t *testing.T) {
	l := newWebSocketLab(t, accepts(func(c net.Conn, _ *bufio.ReadWriter) {
		for range 10 {
			io.WriteString(c, string([]byte{0x81, byte(len(secretValue))})+secretValue)
		}
	}))
	c, br := l.join()
	got, _ := io.ReadAll(br)
	if n := bytes.Count(got, []byte("***")) / (len(secretValue) / 3); n >= maxReflections {
		t.Errorf("%d answers: %q", n, got)
	}
	c.Close()
	if resp, _ := l.ask(send("GET", "/")); resp.StatusCode != 403 {
		t.Errorf("the next request: %d", resp.StatusCode)
	}
}

// TestS19_FramesThatCouldHideASecret end the connection.
func TestS19_FramesThatCouldHideASecret(t *testing.T) {
	for name, sent := range map[string]string{
		"compressed":            "\xc1\x02ab",
		"masked":                "\x81\x82\x00\x00\x00\x00ab",
		"no message goes on":    "\x80\x02ab",
		"a message in another":  "\x01\x02ab\x81\x02cd",
		"an opcode of nothing":  "\x83\x02ab",
		"another":               "\x8b\x02ab",
		"a control in parts":    "\x09\x02ab",
		"a long control":        "\x89\x7e\x00\x80" + pad(128),
		"a length without end":  "\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff",
		"a frame broken off":    "\x81\x05ab",
		"a head broken off":     "\x81",
		"a length broken off":   "\x81\x7e\x00",
		"a control broken off":  "\x89\x05ab",
		"not a frame of anyone": "HTTP/1.1 200 OK\r\n\r\n",
	} {
		f := newWebFrames(strings.NewReader(sent), new(creds.Table).NewScrubber, func(int) error { return nil })
		if got, err := io.ReadAll(f); err != errFrames || strings.Contains(string(got), "cd") {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// FuzzWebFrames: whatever a server sends, what goes on is whole frames or a beginning
// of one, without the secret in a message; where the stream is cut has no meaning.
func FuzzWebFrames(f *testing.F) {
	f.Add([]byte("\x01\x03abc\x80\x23"+secretValue), uint8(3))
	f.Add([]byte("\x82\x7e\x00\x80"+pad(128)+"\x88\x00"), uint8(1))
	table, err := creds.NewTable([]creds.Binding{bearer("good.test")})
	if err != nil {
		f.Fatal(err)
	}
	s, err := creds.NewSecret([]byte(secretValue))
	if err != nil {
		f.Fatal(err)
	}
	table.Resolve(0, 1, s, nil)
	run := func(r io.Reader) ([]byte, error) {
		return io.ReadAll(newWebFrames(r, table.NewScrubber, func(int) error { return nil }))
	}
	f.Fuzz(func(t *testing.T, sent []byte, cut uint8) {
		whole, err := run(bytes.NewReader(sent))
		parts, again := run(&pieced{sent, int(cut%32) + 1})
		if !bytes.Equal(whole, parts) || err != again {
			t.Fatalf("%q becomes %q or %q (%v, %v)", sent, whole, parts, err, again)
		}
		frames := newWebFrames(bytes.NewReader(whole), new(creds.Table).NewScrubber, func(int) error { return nil })
		if clean, err := io.ReadAll(frames); err != nil || bytes.Contains(clean, []byte(secretValue)) {
			t.Fatalf("%q: %v", clean, err)
		}
	})
}

// pieced gives n bytes at a time.
type pieced struct {
	rest []byte
	n    int
}

func (p *pieced) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
