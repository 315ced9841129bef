package e2e

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

const openPolicy = `
caller: [cwd, tty, timeout]
weaken: [open_network]
egress_rules:
  - "!DELETE example.test/**"
`

// abstract connects to a socket of the abstract namespace, and names what it meets.
const abstract = `import socket, sys
try: socket.socket(socket.AF_UNIX).connect("\0" + sys.argv[1]); print("connected")
except OSError as e: print("not reached:", e.strerror)
`

// The open network is a way to public addresses past the same guard, never the
// network of the node: what listens there for nobody else stays where it is.
func TestS21_TheOpenNetworkIsNotTheNodes(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 16)
	listen := func(network, address string) net.Addr {
		return lab.Serve(t, network, address, func(net.Conn) { reached <- network + " " + address })
	}
	name := fmt.Sprintf("omnijail-open-%s", strings.ReplaceAll(t.TempDir(), "/", "-"))
	listen("unix", "@"+name)
	loopback := listen("tcp4", "127.0.0.1:0").(*net.TCPAddr)
	everywhere := listen("tcp4", "0.0.0.0:0").(*net.TCPAddr)
	dns := newResolver(t, map[string][]string{
		"private.test": {"10.20.1.5"}, "metadata.test": {"169.254.169.254"}, "loopback.test": {"127.0.0.1"},
	})
	n := NewNode(t, Options{
		DNS: dns.Addr, Policy: map[string]string{"open": openPolicy}, Config: accessOf(map[string]any{"weaken": []string{"open_network"}}),
		Hosts: func(n *Node) map[string]string { return map[string]string{"other.test:7777": n.Lab.TCP().String()} },
	})
	curl := func(args ...string) []string { return append([]string{"curl", "-sS", "--max-time", "30"}, args...) }
	for _, c := range []struct {
		name   string
		argv   []string
		inside string
	}{
		{"an abstract socket of the node", python(abstract, name), "not reached: "},
		{"loopback of the node", curl("http://" + loopback.String()), "Couldn't connect"},
		{"loopback of the node, IPv6", curl(fmt.Sprintf("http://[::1]:%d", loopback.Port)), "Couldn't connect"},
		{"a name of loopback", curl(fmt.Sprintf("http://loopback.test:%d", loopback.Port)), "own_address"},
		{"localhost below a name", curl(fmt.Sprintf("http://x.localhost:%d", loopback.Port)), "Couldn't connect"},
		{"a private name", curl("https://private.test/"), "private_address"},
		{"a private address", curl("http://10.20.1.5/"), "private_address"},
		{"a metadata name", curl("http://metadata.test/"), "metadata_address"},
		{"a metadata address", curl("http://169.254.169.254/latest/meta-data"), "metadata_address"},
		{"what a rule denies", curl("-XDELETE", "https://example.test/"), "deny_rule"},
		{"a stream past a rule", python(rawTCP, "example.test", "443"), "got b''"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := n.Exec(t, slices.Concat([]string{"--policy", "open", "--", "sh", "-c", `exec "$@" 2>&1`, "sh"}, c.argv)...)
			if !strings.Contains(o.Stdout, c.inside) {
				t.Errorf("inside: %q, want %q (%s)", o.Stdout, c.inside, o.Stderr)
			}
		})
	}
	for _, own := range ownIPv4(t) {
		o := n.Exec(t, slices.Concat([]string{"--policy", "open", "--"}, curl(fmt.Sprintf("http://%s:%d", own, everywhere.Port)))...)
		if !strings.Contains(o.Stdout, "own_address") {
			t.Errorf("the node's own %s: %q (%s)", own, o.Stdout, o.Stderr)
		}
	}
	select {
	case what := <-reached:
		t.Errorf("reached: %s", what)
	default:
	}
	t.Run("what is outside is reached, and recorded", func(t *testing.T) {
		for _, c := range []struct{ script, want string }{
			{`curl -sS -X PUT https://other.test/status?code=204 -w '%{http_code}'`, "204"},
			{`curl -sS http://example.test/status?code=204 -w '%{http_code}'`, "204"},
			{`exec 3<>/dev/tcp/other.test/7777; echo ping >&3; head -n 1 <&3`, "ping\n"},
		} {
			if o := n.Exec(t, "--policy", "open", "--", "bash", "-c", c.script); o.Stdout != c.want {
				t.Errorf("%s: %q, want %q (%s)", c.script, o.Stdout, c.want, o.Stderr)
			}
		}
		events := n.Run(t, Ctl{UID: Alice, Args: []string{"events", "--json"}}).Want(t, 0).Stdout
		for _, want := range []string{"other.test", `"PUT"`, "other.test:7777"} {
			if !strings.Contains(events, want) {
				t.Errorf("no record has %s", want)
			}
		}
	})
	t.Run("a name that nobody has heard of is the resolver's to answer", func(t *testing.T) {
		o := n.Exec(t, slices.Concat([]string{"--policy", "open", "--"}, curl("https://nowhere.test/"))...)
		if !strings.Contains(o.Stdout, "no_such_name") && !strings.Contains(o.Stdout, "dns") {
			t.Errorf("%q (%s)", o.Stdout, o.Stderr)
		}
	})
}

// ownIPv4 are the node's addresses that are not loopback.
func ownIPv4(t *testing.T) (out []string) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip := a.(*net.IPNet).IP; ip.To4() != nil && !ip.IsLoopback() {
			out = append(out, ip.String())
		}
	}
	return out
}

// It is the operator's to give, in whatever words it is asked for.
func TestS21_TheOpenNetworkNeedsAccess(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"open": openPolicy}})
	type m = map[string]any
	for name, policy := range map[string]any{
		"the operator's policy": "open", "weaken": m{"weaken": []string{"open_network"}}, "the other word": m{"allow_network": true},
		"a block": m{"sandbox": m{"allow_network": true}},
	} {
		if a := execAsks(t, n, m{"policy": policy}); a.status != 403 || !strings.Contains(a.body, "open_network") {
			t.Errorf("%s: %v", name, a)
		}
	}
	n.reload(t, accessOf(m{"weaken": []string{"open_network"}}))
	secret := m{
		"weaken": []string{"open_network"}, "egress_rules": []string{"GET a.test/**"},
		"credential_proxy": []m{{"type": "https_bearer", "target": "a.test", "source": m{"file": "/etc/hostname"}}},
	}
	if a := execAsks(t, n, m{"policy": secret}); a.status != 422 || !strings.Contains(a.body, "no credentials beside") {
		t.Errorf("with a credential: %v", a)
	}
}
