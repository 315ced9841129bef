package e2e

import (
	"strings"
	"testing"
)

const protocolsPolicy = `
egress_rules:
  - {allow: "* example.test/**", websocket: true}
  - {allow: "* modern.test/**", h2: prefer}
  - "* plain.test/**"
`

// webSocketClient says hello in a masked text frame, and reads it back.
const webSocketClient = `/usr/bin/python3 -c '
import socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("%HOST%", 443)), server_hostname="%HOST%")
s.sendall(b"GET /ws HTTP/1.1\r\nHost: %HOST%\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
f = s.makefile("rb")
print(f.readline().decode().strip())
while f.readline() != b"\r\n": pass
s.sendall(bytes([0x81, 0x85, 0, 0, 0, 0]) + b"hello")
print(f.read(7)[2:].decode())
s.sendall(bytes([0x88, 0x80, 0, 0, 0, 0]))
print(f.read())
'`

// http2Client offers HTTP/2 and nothing else.
const http2Client = `const c = require("http2").connect("https://plain.test");
const r = c.request({":path": "/status?code=204"});
r.on("response", h => { console.log(c.socket.alpnProtocol, h[":status"]); c.close(); });
r.end();`

// TestProtocols speaks HTTP/2 and WebSocket from a jail, with clients as they are.
func TestProtocols(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{
		Policy: map[string]string{"protocols": protocolsPolicy},
		Hosts: func(n *Node) map[string]string {
			at := n.Lab.HTTPS().String()
			return map[string]string{"example.test:443": at, "modern.test:443": at, "plain.test:443": at}
		},
	})
	for _, c := range []struct{ name, script, want string }{
		{"HTTP/2 alone", "node -e '" + http2Client + "'", "h2 204\n"},
		{"HTTP/1.1 of both", `curl -sS --http2 https://plain.test/status?code=204 -w '%{http_version}'`, "1.1"},
		{"HTTP/2 of both, preferred", `curl -sS --http2 https://modern.test/status?code=204 -w '%{http_version}'`, "2"},
		{"events over HTTP/2", `curl -sSN --http2 https://modern.test/sse?n=2`, "data: 0\n\ndata: 1\n\n"},
		{"16 MiB each way over HTTP/2", `head -c 16M /dev/urandom > $HOME/x; curl -sS --http2 -T $HOME/x -X POST https://modern.test/echo | cmp - $HOME/x && echo same`, "same\n"},
		{"WebSocket", strings.ReplaceAll(webSocketClient, "%HOST%", "example.test"), "HTTP/1.1 101 Switching Protocols\nhello\nb'\\x88\\x00'\n"},
		{"WebSocket, no rule", strings.ReplaceAll(webSocketClient, "%HOST%", "plain.test") + ` | head -n 1 | cut -d ' ' -f 1-3`, "HTTP/1.1 403 Forbidden\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := n.Exec(t, "--policy", "protocols", "--", "bash", "-c", c.script).Want(t, 0)
			if o.Stdout != c.want {
				t.Errorf("%q, want %q\n%s", o.Stdout, c.want, o.Stderr)
			}
		})
	}
	var modern int
	for _, s := range n.Lab.Seen() {
		if s.Host == "modern.test" && s.Proto == "HTTP/2.0" {
			modern++
		}
	}
	if modern == 0 {
		t.Errorf("the upstream was never spoken to in HTTP/2: %+v", n.Lab.Seen())
	}
}
