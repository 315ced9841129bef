package netns

import (
	"testing"
)

func newNetByPort(t *testing.T, o Opening) *Net {
	t.Helper()
	n := newNetBy(t, ByPort)
	open(t, n, o)
	return n
}

func TestByPortTakesTheNamedPortsAtEachAddress(t *testing.T) {
	n := newNetByPort(t, Opening{Ports: []uint16{22, 443}, Proxy: true})
	answer(t, n)
	for _, dst := range []string{
		"198.18.1.7:443", "198.18.1.7:22", "140.82.121.6:22", "10.0.0.1:443",
		"[fd6f:6d6e:696a::107]:443", "[2606:4700::1111]:22",
	} {
		if got, want := inside(t, n, "dial", "tcp", dst), "node "+dst; got != want {
			t.Errorf("dial %s: %q, want %q", dst, got, want)
		}
	}
	for _, dst := range []string{"198.18.1.7:80", "198.18.1.7:3128", "10.0.0.1:1", "[fd6f:6d6e:696a::107]:444"} {
		if got := inside(t, n, "dial", "tcp", dst); got != "ECONNREFUSED" {
			t.Errorf("dial %s, which no rule names: %q, want ECONNREFUSED", dst, got)
		}
	}
}

// The ports that rules name are taken from the jail, whatever it asks of the
// kernel; all others are its own.
func TestByPortTheJailCannotTakeAPortOfOurs(t *testing.T) {
	n := newNetByPort(t, Opening{Ports: []uint16{443}, Proxy: true})
	answer(t, n)
	for _, bind := range []string{
		"0.0.0.0:443", "127.0.0.1:443", "198.18.1.7:443", "[::]:443", "[::1]:443", "[fd6f:6d6e:696a::107]:443",
		"127.0.0.1:3128", "0.0.0.0:3128", "[::1]:3128",
	} {
		for _, probe := range []string{"serve", "squat"} {
			if got := inside(t, n, probe, bind, "198.18.1.7:443"); got != "bind: EADDRINUSE" && got != "bind: EADDRNOTAVAIL" {
				t.Errorf("%s on %s: %q, want a refusal", probe, bind, got)
			}
		}
	}
	for _, tc := range []struct{ bind, dial string }{
		{"127.0.0.1:8000", "127.0.0.1:8000"},
		{"0.0.0.0:80", "127.0.0.1:80"},
		{"[::1]:8000", "[::1]:8000"},
		{"[::]:8000", "127.0.0.1:8000"},
	} {
		if got := inside(t, n, "serve", tc.bind, tc.dial); got != "jail" {
			t.Errorf("server on %s, dial %s: %q, want the jail's own server", tc.bind, tc.dial, got)
		}
	}
}

func TestByPortConnectsAreRefusedOnceTheServerIsGone(t *testing.T) {
	n := newNetByPort(t, Opening{Ports: []uint16{443}})
	stop := answer(t, n)
	n.Forget()
	if got := inside(t, n, "dial", "tcp", "198.18.1.7:443"); got != "node 198.18.1.7:443" {
		t.Fatalf("after Forget, with the server's copies open: %q", got)
	}
	stop()
	for _, dst := range []string{"198.18.1.7:443", "[fd6f:6d6e:696a::107]:443", "127.0.0.1:443"} {
		if got := inside(t, n, "dial", "tcp", dst); got != "ECONNREFUSED" {
			t.Errorf("dial %s after the server is gone: %q, want ECONNREFUSED", dst, got)
		}
	}
}
