package netns

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// answer serves the TCP sockets as the egress process would: each connection is
// told which destination it had. It keeps copies of its own, so that Forget can
// be tested; stop closes them.
func answer(t testing.TB, n *Net) (stop func()) {
	t.Helper()
	var listeners []net.Listener
	for _, f := range n.Sockets().TCP {
		l, err := net.FileListener(f)
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Write([]byte("node " + c.LocalAddr().String() + "\n"))
				c.Close()
			}
		}()
	}
	stop = func() {
		for _, l := range listeners {
			l.Close()
		}
	}
	t.Cleanup(stop)
	return stop
}

func TestEachDestinationReachesTheListener(t *testing.T) {
	n := newNet(t)
	answer(t, n)
	for _, dst := range []string{
		"198.18.1.7:443", "198.18.0.1:443", "140.82.121.6:22", "1.1.1.1:53", "10.0.0.1:1",
		"169.254.169.254:80", "192.168.1.1:65535", "255.255.255.254:80",
		"[fd6f:6d6e:696a::107]:443", "[2606:4700::1111]:443", "[::2]:80",
	} {
		t.Run(dst, func(t *testing.T) {
			if got, want := inside(t, n, "dial", "tcp", dst), "node "+dst; got != want {
				t.Errorf("dial %s: %q, want %q", dst, got, want)
			}
		})
	}
}

func TestMappedAddressIsSteeredAsIPv4(t *testing.T) {
	n := newNet(t)
	answer(t, n)
	// Go dials ::ffff:a.b.c.d over IPv4 itself, so the destination is what counts.
	if got := inside(t, n, "dial", "tcp", "[::ffff:198.18.1.7]:443"); got != "node 198.18.1.7:443" {
		t.Errorf("dial mapped: %q", got)
	}
}

func TestLoopbackBelongsToTheJail(t *testing.T) {
	n := newNet(t)
	answer(t, n)
	for _, tc := range []struct{ bind, dial string }{
		{"127.0.0.1:8000", "127.0.0.1:8000"},
		{"127.7.7.7:80", "127.7.7.7:80"},
		{"[::1]:8000", "[::1]:8000"},
		{"0.0.0.0:80", "127.0.0.1:80"},
		{"[::]:443", "[::1]:443"},
		{"[::]:443", "127.0.0.1:443"},
		{"0.0.0.0:8000", "0.0.0.0:8000"}, // the kernel reads 0.0.0.0 as loopback
	} {
		if got := inside(t, n, "serve", tc.bind, tc.dial); got != "jail" {
			t.Errorf("server on %s, dial %s: %q, want the jail's own server", tc.bind, tc.dial, got)
		}
	}
	for _, dst := range []string{"127.0.0.1:443", "127.255.255.254:443", "[::1]:443"} {
		if got := inside(t, n, "dial", "tcp", dst); got != "ECONNREFUSED" {
			t.Errorf("dial %s with no server: %q, want ECONNREFUSED", dst, got)
		}
	}
}

// The jail may bind what it likes; the program decides before any listener of
// the jail's is looked at.
func TestJailCannotTakeAnInterceptedConnection(t *testing.T) {
	n := newNet(t)
	answer(t, n)
	listener := portOf(t, n.Sockets().TCP[0])
	for _, tc := range []struct{ bind, dial string }{
		{"0.0.0.0:443", "198.18.1.7:443"},
		{"198.18.1.7:443", "198.18.1.7:443"},
		{"[::]:443", "[fd6f:6d6e:696a::107]:443"},
		{"[fd6f:6d6e:696a::107]:443", "[fd6f:6d6e:696a::107]:443"},
		{"[::]:443", "198.18.1.7:443"},
		{"198.18.0.2:" + listener, "198.18.1.7:" + listener},
		{"1.1.1.1:53", "1.1.1.1:53"},
	} {
		if got, want := inside(t, n, "squat", tc.bind, tc.dial), "node "+tc.dial; got != want {
			t.Errorf("squat on %s, dial %s: %q, want %q", tc.bind, tc.dial, got, want)
		}
	}
	for _, own := range []string{"198.18.0.1:" + listener, "0.0.0.0:" + listener} {
		if got := inside(t, n, "squat", own, "198.18.1.7:443"); got != "bind: EADDRINUSE" {
			t.Errorf("squat on %s, the listener's own: %q, want EADDRINUSE", own, got)
		}
	}
}

func TestJailCannotTakePort53(t *testing.T) { bothWays(t, cannotTakePort53) }

func cannotTakePort53(t *testing.T, n *Net) {
	for _, at := range []string{"0.0.0.0:53", "127.0.0.1:53", "198.18.0.53:53", "[::]:53", "[::1]:53"} {
		if got := inside(t, n, "listen", "udp", at); got != "EADDRINUSE" {
			t.Errorf("bind udp %s: %q, want EADDRINUSE", at, got)
		}
	}
}

func TestOtherProtocolsAreRefusedAtOnce(t *testing.T) { bothWays(t, otherProtocolsAreRefused) }

func otherProtocolsAreRefused(t *testing.T, n *Net) {
	for _, dst := range []string{"8.8.8.8:443", "198.18.1.7:443", "[2606:4700::1111]:443", "127.0.0.1:9"} {
		if got := inside(t, n, "datagram", dst); got != "ECONNREFUSED" {
			t.Errorf("datagram to %s: %q, want ECONNREFUSED", dst, got)
		}
	}
	for _, tc := range []struct {
		what                   string
		family, kind, protocol int
		want                   string
	}{
		{"ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, "EACCES"},
		{"ping6", unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_ICMPV6, "EACCES"},
		{"raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, "EPERM"},
		{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0, "EPERM"},
		{"mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, "ENOPROTOOPT"},
	} {
		got := inside(t, n, "socket", strconv.Itoa(tc.family), strconv.Itoa(tc.kind), strconv.Itoa(tc.protocol))
		if got != tc.want {
			t.Errorf("%s socket: %q, want %s", tc.what, got, tc.want)
		}
	}
}

func TestConnectsAreRefusedOnceTheServerIsGone(t *testing.T) {
	n := newNet(t)
	stop := answer(t, n)
	n.Forget()
	if got := inside(t, n, "dial", "tcp", "198.18.1.7:443"); got != "node 198.18.1.7:443" {
		t.Fatalf("after Forget, with the server's copies open: %q", got)
	}
	stop()
	for _, probe := range [][]string{
		{"dial", "tcp", "198.18.1.7:443"},
		{"dial", "tcp", "[fd6f:6d6e:696a::107]:443"},
		// Not even a server of the jail's own takes over.
		{"serve", "0.0.0.0:443", "198.18.1.7:443"},
	} {
		if got := inside(t, n, probe[0], probe[1:]...); got != "ECONNREFUSED" {
			t.Errorf("%s after the server is gone: %q, want ECONNREFUSED", strings.Join(probe, " "), got)
		}
	}
	if got := inside(t, n, "serve", "127.0.0.1:80", "127.0.0.1:80"); got != "jail" {
		t.Errorf("the jail's own server after ours is gone: %q", got)
	}
}

func portOf(t testing.TB, f *os.File) string {
	t.Helper()
	sa, err := unix.Getsockname(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	in4, ok := sa.(*unix.SockaddrInet4)
	if !ok {
		t.Fatal(errors.New("not an IPv4 socket"))
	}
	return strconv.Itoa(in4.Port)
}
