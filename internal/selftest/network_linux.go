package selftest

import (
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// networkAttempts go around the proxy: to addresses without names, by other
// protocols, to the node itself.
func networkAttempts() (out []Attempt) {
	add := func(name, tries, must string, probe func(*Site) Finding) *Attempt {
		out = append(out, Attempt{Name: "network." + name, Tries: tries, Must: must, Guarantee: jail.NetworkOnlyProxy, group: network, probe: probe})
		return &out[len(out)-1]
	}
	const refusal = "the proxy refuses, or nothing answers"
	for _, a := range []struct {
		name, tries, address string
		port                 int
		plain                bool
	}{
		{"tls_to_address", "TLS to a public address", "1.1.1.1", 443, false},
		{"tls_to_address6", "TLS to a public IPv6 address", "2606:4700:4700::1111", 443, false},
		{"tls_over_tls_dns", "DNS over TLS", "1.1.1.1", 853, false},
		{"http_to_address", "HTTP to a public address", "1.1.1.1", 80, true},
		{"metadata", "the metadata service", "169.254.169.254", 80, true},
		{"metadata_container", "the credentials of a container", "169.254.170.2", 80, true},
		{"metadata6", "the metadata service over IPv6", "fd00:ec2::254", 80, true},
		{"metadata_alibaba", "the metadata service of another cloud", "100.100.100.200", 80, true},
		{"metadata_azure", "the wire server of another cloud", "168.63.129.16", 80, true},
		{"private_10", "a private network", "10.0.0.1", 80, true},
		{"private_172", "a private network", "172.17.0.1", 80, true},
		{"private_192", "a private network", "192.168.0.1", 80, true},
		{"link_local6", "a link-local address", "fe80::1", 80, true},
		{"unknown_name_address", "an address that would stand for a name and stands for none", "198.18.77.77", 443, false},
		{"proxy_itself", "the proxy's own address", "198.18.0.1", 443, false},
		{"kubernetes", "a cluster's API", "10.96.0.1", 443, false},
		{"docker_api", "a container engine's API", "172.17.0.1", 2375, true},
	} {
		add(a.name, "reach "+a.tries+" ("+a.address+")", refusal, func(s *Site) Finding {
			host := net.JoinHostPort(a.address, itoa(a.port))
			return judged(s.ask(target{host: a.address, port: a.port, plain: a.plain}, "GET", request("GET", "/", host)))
		})
	}
	add("fronting", "name an allowed host in the handshake with a public address", refusal, proxied(func(s *Site) Finding {
		return judged(s.ask(target{host: "1.1.1.1", sni: allowedName}, "GET", request("GET", "/open/x", allowedName)))
	}))
	add("raw_tcp", "speak something that is neither TLS nor HTTP to an allowed name", refusal, proxied(func(s *Site) Finding {
		return spoken(s, allowedName, 443, "\x00\x01\x02\x03 something else\r\n\r\n")
	}))
	for _, p := range []struct {
		name, tries, text string
		port              int
	}{
		{"ssh", "speak SSH", "SSH-2.0-omnijail\r\n", 22}, {"smtp", "speak SMTP", "EHLO x\r\n", 25}, {"socks", "ask a SOCKS proxy", "\x05\x01\x00", 1080},
		{"postgres", "speak to a database", "\x00\x00\x00\x08\x04\xd2\x16\x2f", 5432}, {"redis", "speak to a store", "PING\r\n", 6379}, {"git", "speak git's own protocol", "0033git-upload-pack /x\x00host=x\x00", 9418},
	} {
		add("tcp_"+p.name, p.tries+" with a public address", refusal, func(s *Site) Finding { return spoken(s, "1.1.1.1", p.port, p.text) })
	}
	for _, l := range []struct{ name, tries, address string }{
		{"loopback", "the node's loopback", "127.0.0.1"}, {"loopback6", "the node's IPv6 loopback", "::1"}, {"loopback_mapped", "the node's loopback as a mapped address", "::ffff:127.0.0.1"},
		{"unspecified", "the node's loopback as the unspecified address", "0.0.0.0"}, {"loopback_other", "the node's loopback by another of its addresses", "127.1.2.3"},
	} {
		add("tcp_"+l.name, "reach a server on "+l.tries, "ECONNREFUSED", func(s *Site) Finding { return greeted("tcp", net.JoinHostPort(l.address, itoa(s.Port))) })
		add("udp_"+l.name, "send a datagram to "+l.tries, "ECONNREFUSED", func(s *Site) Finding { return greeted("udp", net.JoinHostPort(l.address, itoa(s.Port))) })
	}
	for _, protocol := range []string{"tcp", "udp"} {
		add(protocol+"_node", "reach a server on the node's own addresses over "+strings.ToUpper(protocol), refusal, func(s *Site) Finding {
			if len(s.Addrs) == 0 {
				return notRun("the node has no other addresses")
			}
			for _, a := range s.Addrs {
				if f := greeted(protocol, net.JoinHostPort(a, itoa(s.Port))); f.Result != Refused {
					return f
				}
			}
			return refused("%d addresses", len(s.Addrs))
		}).NoControl = "a network namespace of one's own has no other addresses"
	}
	for _, u := range []struct {
		name, tries, address string
		port                 int
	}{
		{"quic", "QUIC to a public address", "1.1.1.1", 443}, {"ntp", "the time of a public server", "162.159.200.1", 123},
		{"wireguard", "a tunnel", "1.1.1.1", 51820}, {"syslog", "a log server", "10.0.0.1", 514}, {"quic6", "QUIC to a public IPv6 address", "2606:4700:4700::1111", 443},
	} {
		add("udp_"+u.name, "reach "+u.tries+" by datagram", "refused at once", func(s *Site) Finding { return datagram(s, u.address, u.port) })
	}
	for _, u := range []struct{ name, tries, address string }{
		{"multicast_dns", "multicast DNS", "224.0.0.251:5353"}, {"multicast_dns6", "multicast DNS over IPv6", "[ff02::fb%lo]:5353"}, {"ssdp", "a router's control protocol", "239.255.255.250:1900"},
		{"broadcast", "everybody on the network", "255.255.255.255:9"}, {"dhcp", "a DHCP server", "255.255.255.255:67"},
	} {
		add("udp_"+u.name, "call "+u.tries, "nobody answers", func(s *Site) Finding { return called(s, u.address) })
	}
	add("quic_name", "reach an allowed name by QUIC", "refused at once", proxied(func(s *Site) Finding { return datagram(s, allowedName, 443) }))
	add("ping", "ping a public address", "no answer from outside", ping).NoControl = "without a route nobody is there to answer"
	return out
}

// spoken sends text by TCP and judges what comes back.
func spoken(s *Site, host string, port int, text string) Finding {
	c, err := s.dial("tcp", host, port)
	if err != nil {
		return refused("%v", err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte(text)); err != nil {
		return refused("%v", err)
	}
	b := make([]byte, 512)
	n, err := c.Read(b)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return succeeded("neither refused nor answered within %v", patience)
	case err != nil:
		return refused("%v", err)
	case strings.Contains(strings.ToLower(string(b[:n])), "omnijail"):
		return refused("%.60q", b[:n])
	}
	return succeeded("answered: %.60q", b[:n])
}

func datagram(s *Site, host string, port int) Finding {
	c, err := s.dial("udp", host, port)
	if err != nil {
		return refused("%v", err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte("hello")); err != nil {
		return refused("%v", err)
	}
	n, err := c.Read(make([]byte, 512))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return succeeded("neither refused nor answered within %v", patience)
	case err != nil:
		return refused("%v", err)
	}
	return succeeded("%d bytes came back", n)
}

// called sends a datagram to many and waits a moment for anybody.
func called(s *Site, address string) Finding {
	if s.Via != "" {
		address = s.Via
	}
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return notRun("%v", err)
	}
	c, err := net.ListenUDP("udp", nil)
	if err != nil {
		return notRun("%v", err)
	}
	defer c.Close()
	if _, err := c.WriteTo([]byte("anybody"), to); err != nil {
		return refused("%v", err)
	}
	c.SetDeadline(time.Now().Add(patience / 50))
	n, from, err := c.ReadFrom(make([]byte, 512))
	if err != nil {
		return refused("nobody answered")
	}
	return succeeded("%v answered with %d bytes", from, n)
}

// ping sends an echo request without privilege, where the node lets users do it.
func ping(*Site) Finding {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
	if err != nil {
		return refused("%v", err)
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{1, 1, 1, 1}}); err != nil {
		return refused("%v", err)
	}
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 300_000})
	if _, err := unix.Write(fd, []byte{8, 0, 0, 0, 0, 1, 0, 1}); err != nil {
		return refused("%v", err)
	}
	// In a namespace where every address is the jail's own it answers itself.
	if _, err := unix.Read(fd, make([]byte, 64)); err != nil {
		return refused("%v", err)
	}
	var interfaces, _ = net.Interfaces()
	if len(interfaces) == 1 {
		return refused("this jail answered itself: it has no interface but loopback")
	}
	return succeeded("it was answered")
}
