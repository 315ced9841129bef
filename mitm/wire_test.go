package mitm

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
)

// quiet is for upstreams whose handshakes are meant to fail.
var quiet = log.New(io.Discard, "", 0)

func pad(n int) string { return strings.Repeat("a", n) }

// rawUpstream answers every request with the same bytes and hangs up.
func rawUpstream(t *testing.T, reply string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go answerRaw(l, reply)
	return l.Addr().String()
}

// answerRaw answers the first request of each connection with bytes.
func answerRaw(l net.Listener, reply string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				io.WriteString(c, reply)
			}
		}()
	}
}
