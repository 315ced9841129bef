package egressd

import (
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/ownthread"
	"github.com/omnijail/omnijail/netns"
	"github.com/omnijail/omnijail/netns/dnsstub"
)

// What the kernel refused a jail is told once, and as that jail's: two jails of one
// process have a socket each.
func TestS22_RefusedPacketsAreToldOnce(t *testing.T) {
	r := newRig(t)
	r.hello()
	sent := map[string]string{testJail: "10.0.0.1:123", "jfedcba9876543210": "10.0.0.2:124"}
	networks := map[string]*netns.Net{}
	for jail := range sent {
		networks[jail] = r.observed(jail)
	}
	for jail, to := range sent {
		datagrams(t, networks[jail], to, "127.0.0.1:9", to)
	}
	for range sent {
		e := r.receive().(wire.Event)
		if got, want := e.Method+" "+e.Name, "UDP "+sent[e.Jail]; got != want || e.Kind != audit.KindPacket || e.Code != audit.CodePacket {
			t.Errorf("%s: %s %s %q, want %q", e.Jail, e.Kind, e.Code, got, want)
		}
		r.send(wire.Ack{Records: []wire.Written{{Seq: e.Seq, ID: "01020304"}}})
	}
	for jail := range sent {
		if a := r.ask(wire.Detach{Seq: 9, Jail: jail}); a.Status != wire.OK {
			t.Error(a.Status)
		}
	}
}

// observed attaches a jail whose refused packets are seen.
func (r *rig) observed(jail string) *netns.Net {
	r.t.Helper()
	n, err := netns.New(netns.Steered)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { n.Close() })
	if err := n.Open(netns.Opening{Packets: true}); err != nil {
		r.t.Fatal(err)
	}
	s := n.Sockets()
	if a := r.ask(wire.Attach{Seq: 2, Jail: jail, Spec: r.sealed(wire.Spec{}), TCP: s.TCP, UDP: s.UDP, Packets: s.Packets}); a.Status != wire.OK {
		r.t.Fatal(a.Status)
	}
	n.Forget()
	return n
}

// datagrams are sent from n, one to each address.
func datagrams(t *testing.T, n *netns.Net, to ...string) {
	t.Helper()
	err := ownthread.Run(func() error {
		if err := unix.Setns(int(n.FD().Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		c, err := net.ListenUDP("udp4", nil)
		if err != nil {
			return err
		}
		defer c.Close()
		for _, addr := range to {
			c.WriteTo([]byte("x"), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(addr)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhereAPacketWent(t *testing.T) {
	names := dnsstub.NewNames()
	v4, v6, err := names.Addrs("example.com")
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[netip.AddrPort]string{
		netip.AddrPortFrom(v4, 443):               "example.com:443",
		netip.AddrPortFrom(v6, 5353):              "example.com:5353",
		netip.AddrPortFrom(v4, 0):                 "example.com",
		netip.MustParseAddrPort("10.0.0.1:0"):     "10.0.0.1",
		netip.MustParseAddrPort("10.0.0.1:1"):     "10.0.0.1:1",
		netip.MustParseAddrPort("[2001:db8::]:1"): "[2001:db8::]:1",
	} {
		if got := where(to, names); got != want {
			t.Errorf("%v: %q, want %q", to, got, want)
		}
	}
}
