package e2e

import (
	"strings"
	"testing"
)

const widePolicy = `
caller: [cwd, tty, timeout]
egress_rules:
  - "* *.example.test/**"
  - "GET http://example.test/**"
  - "tcp://other.test:7777"
  - "GET other.test:*/bytes"
`

// TestWhatARuleAllowsArrives goes through every kind of rule and of body.
func TestWhatARuleAllowsArrives(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{
		Policy: map[string]string{"wide": widePolicy},
		Hosts:  func(n *Node) map[string]string { return map[string]string{"other.test:7777": n.Lab.TCP().String()} },
	})
	for _, c := range []struct{ name, script, want string }{
		{"plain http", `curl -sS http://example.test/status?code=204 -w '%{http_code}'`, "204"},
		{"the apex of a wildcard", `curl -sS https://example.test/ -w '%{http_code}'`, "lab\n200"},
		{"a name below a wildcard", `curl -sS -X OPTIONS https://api.example.test/status?code=204 -w '%{http_code}'`, "204"},
		{"raw TCP", `exec 3<>/dev/tcp/other.test/7777; echo ping >&3; head -n 1 <&3`, "ping\n"},
		{"keep-alive", `curl -sS https://example.test/ https://example.test/ -w '%{num_connects} '`, "lab\n1 lab\n0 "},
		{"64 MiB each way", `head -c 64M /dev/urandom > $HOME/x; curl -sS -T $HOME/x -X POST https://example.test/echo | cmp - $HOME/x && echo same`, "same\n"},
		{"64 MiB in chunks", `head -c 64M /dev/urandom > $HOME/x; curl -sS -T - -X POST https://example.test/echo < $HOME/x | cmp - $HOME/x && echo same`, "same\n"},
		{"an answer in pieces", `curl -sSN https://example.test/chunked?n=3`, "chunk 0\nchunk 1\nchunk 2\n"},
		{"events", `curl -sSN https://example.test/sse?n=2`, "data: 0\n\ndata: 1\n\n"},
		{"early hints", `curl -sS https://example.test/hints`, "after hints\n"},
		{"trailers", `curl -sS -d abc https://example.test/trailers`, "3 bytes\n"},
		{"HEAD", `curl -sS -I -o /dev/null https://example.test/ -w '%{http_code}'`, "200"},
		{"a redirect to what no rule allows", `curl -sSL https://example.test/redirect?to=https://github.com/ 2>&1 | grep -o 'Could not resolve host'`, "Could not resolve host\n"},
		{"a server of its own", `/usr/bin/python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 & until curl -sf http://127.0.0.1:8000/ >/dev/null; do :; done; echo mine`, "mine\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := n.Exec(t, "--policy", "wide", "--", "bash", "-c", c.script).Want(t, 0)
			if o.Stdout != c.want {
				t.Errorf("%q, want %q\n%s", o.Stdout, c.want, o.Stderr)
			}
		})
	}
	t.Run("WebSocket is refused by name", func(t *testing.T) {
		o := n.Exec(t, "--policy", "wide", "--", "curl", "-s", "--http1.1", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket",
			"-H", "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "https://example.test/")
		if !strings.Contains(o.Stdout, "upgrade") {
			t.Errorf("%+v", o)
		}
	})
}
