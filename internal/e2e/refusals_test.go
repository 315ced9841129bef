package e2e

import (
	"slices"
	"strings"
	"testing"
)

const narrowPolicy = `
caller: [cwd, tty, timeout, read]
egress_rules:
  - "GET,HEAD api.example.test/open/**"
  - "!* api.example.test/open/secret/**"
  - "GET private.test/**"
  - "GET metadata.test/**"
  - "GET mixed.test/**"
  - "GET own.test/**"
  - "GET github.com/**"
`

// tunnel is a client that does in a TLS connection what no library does:
// HOST PORT SNI and the bytes to send.
const tunnel = `import socket, ssl, sys
host, port, sni, payload = sys.argv[1:]
c = ssl.create_default_context().wrap_socket(socket.create_connection((host, int(port))), server_hostname=sni)
c.sendall(payload.encode().decode("unicode_escape").encode())
sys.stdout.write(c.recv(65536).decode())
`

// rawTCP sends bytes that are neither TLS nor HTTP and waits for the end.
const rawTCP = `import socket, sys
c = socket.create_connection((sys.argv[1], int(sys.argv[2])))
c.sendall(b"\x00\x01\x02\x03 not a protocol we know\r\n")
try: print("got", c.recv(100))
except ConnectionResetError: print("got reset")
`

const udp = `import socket, sys
c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
c.connect((sys.argv[1], int(sys.argv[2])))
c.send(b"x")
try: c.recv(100)
except ConnectionRefusedError: print("refused")
`

func python(script string, args ...string) []string {
	return append([]string{"/usr/bin/python3", "-c", script}, args...)
}

func TestWhatNoRuleAllowsIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	dns := newResolver(t, map[string][]string{
		"private.test": {"10.20.1.5"}, "metadata.test": {"169.254.169.254"},
		"mixed.test": {"192.0.43.8", "192.168.1.1"}, "own.test": {"127.0.0.1"},
	})
	n := NewNode(t, Options{Policy: map[string]string{"narrow": narrowPolicy}, DNS: dns.Addr})

	curl := func(args ...string) []string { return append([]string{"curl", "-sS", "--path-as-is"}, args...) }
	const api = "https://api.example.test"
	get := `GET /open/x HTTP/1.1\r\nHost: `
	for _, c := range []struct {
		name   string
		argv   []string
		inside string // on the command's own output: what the client was told
		owner  string // on omnijailctl's
	}{
		{"deny rule", curl(api + "/open/secret/x"), "deny_rule", "denied GET api.example.test/open/secret/x: a rule denies it"},
		{"method", curl("-XDELETE", api+"/open/x"), "no_rule", "denied DELETE api.example.test/open/x: no rule allows it (nearest: "},
		{"path", curl(api + "/closed"), "no_rule", "denied GET api.example.test/closed: no rule allows it (nearest: "},
		{"dots", curl(api + "/open/../closed"), "bad_request", "not a request that can be forwarded safely"},
		{"encoded dots", curl(api + "/open/%2e%2e/closed"), "bad_request", "not a request that can be forwarded safely"},
		{"half encoded dots", curl(api + "/open/.%2E/closed"), "bad_request", "not a request that can be forwarded safely"},
		{"doubly encoded dots", curl(api + "/open/%252e%252e/closed"), "bad_request", "not a request that can be forwarded safely"},
		{"encoded slash", curl(api + "/open%2fx"), "bad_request", "not a request that can be forwarded safely"},
		{"dots and parameter", curl(api + "/open/..;/closed"), "bad_request", "not a request that can be forwarded safely"},
		{"port", curl(api + ":8443/open/x"), "no_rule", "denied GET api.example.test:8443/open/x"},
		{"plain http", curl("http://api.example.test/open/x"), "plain_http", "plain http"},
		{"Host", curl("-H", "Host: github.com", api+"/open/x"), "authority", "names another host"},
		{"SNI", python(tunnel, "api.example.test", "443", "github.com", get), "unrecognized name", "names another host"},
		{"CONNECT in a tunnel", python(tunnel, "api.example.test", "443", "api.example.test", `CONNECT github.com:443 HTTP/1.1\r\nHost: github.com:443\r\n\r\n`), "405", "never forwarded"},
		{"absolute form in a tunnel", python(tunnel, "api.example.test", "443", "api.example.test", `GET https://github.com/ HTTP/1.1\r\nHost: github.com\r\n\r\n`), "40", "denied"},
		{"TRACE", curl("-XTRACE", api+"/open/x"), "method", "never forwarded"},
		{"IP literal", curl("https://192.0.43.8/open/x"), "ip_literal", "denied GET 192.0.43.8/open/x: an address without a name"},
		{"IPv6 literal", curl("https://[2001:db8::1]/open/x"), "ip_literal", "an address without a name"},
		{"private address", curl("https://private.test/"), "private_address", "private.test is 10.20.1.5, a private address"},
		{"one private address of two", curl("https://mixed.test/"), "private_address", "mixed.test is 192.168.1.1, a private address"},
		{"metadata address", curl("https://metadata.test/"), "metadata_address", "a metadata address"},
		{"own address", curl("https://own.test/"), "own_address", "an address of this node"},
		{"UDP", python(udp, "api.example.test", "443"), "refused", ""},
		{"UDP elsewhere", python(udp, "192.0.43.8", "9"), "refused", ""},
		{"raw TCP", python(rawTCP, "api.example.test", "443"), "got", "denied api.example.test:443: neither TLS nor HTTP"},
		{"raw TCP to an address", python(rawTCP, "192.0.43.8", "25"), "got", "denied 192.0.43.8:25"},
		{"name", curl("https://example.com/"), "Could not resolve host", "denied example.com: no rule allows it"},
		{"name below a listed one", curl("https://x.api.example.test/"), "Could not resolve host", "denied x.api.example.test: no rule allows it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := n.Lab.Connections()
			// What the command says goes elsewhere than what omnijailctl says.
			o := n.Exec(t, slices.Concat([]string{"--policy", "narrow", "--", "sh", "-c", `exec "$@" 2>&1`, "sh"}, c.argv)...)
			if !strings.Contains(o.Stdout, c.inside) {
				t.Errorf("inside: want %q", c.inside)
			}
			if !strings.Contains(o.Stderr, c.owner) {
				t.Errorf("for the owner: want %q", c.owner)
			}
			if n.Lab.Connections() != before {
				t.Error("the upstream was reached")
			}
			if t.Failed() {
				t.Logf("exit %d\nstdout: %s\nstderr: %s", o.Exit, o.Stdout, o.Stderr)
			}
		})
	}
	t.Run("no denied name left the node", func(t *testing.T) {
		if got, want := dns.Asked(), []string{"metadata.test", "mixed.test", "own.test", "private.test"}; !slices.Equal(got, want) {
			t.Errorf("the resolver was asked for %q, want %q", got, want)
		}
	})
	t.Run("what is allowed arrives", func(t *testing.T) {
		o := n.Exec(t, "--policy", "narrow", "--", "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", api+"/open/x").Want(t, 0)
		if o.Stdout != "404" || len(n.Lab.Seen()) != 1 {
			t.Errorf("%+v, the upstream saw %+v", o, n.Lab.Seen())
		}
	})
}

// ours are the lines of standard error that omnijailctl wrote.
func ours(stderr string) string {
	var b strings.Builder
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "omnijailctl: ") || strings.HasPrefix(line, "hint: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
