package selftest

import (
	"encoding/binary"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// deviceAttempts change the jail's network itself, so that packets find another
// way, or take the proxy's place in it.
func deviceAttempts() (out []Attempt) {
	add := func(name, tries, must string, probe func(*Site) Finding) *Attempt {
		out = append(out, Attempt{Name: "device." + name, Tries: tries, Must: must, Guarantee: jail.NetworkOnlyProxy, group: network, probe: probe})
		return &out[len(out)-1]
	}
	add("interfaces", "find an interface besides loopback", "there is none", func(*Site) Finding {
		list, err := net.Interfaces()
		if err != nil {
			return notRun("%v", err)
		}
		for _, i := range list {
			if i.Name != "lo" {
				return succeeded("there is %s", i.Name)
			}
		}
		return refused("there is lo alone")
	}).NoControl = "a network namespace of one's own has no other either"
	for _, m := range []struct {
		name, tries string
		kind, flags uint16
		body        []byte
	}{
		{"link_new", "make a dummy device", unix.RTM_NEWLINK, unix.NLM_F_CREATE | unix.NLM_F_EXCL, newDummy()},
		{"link_down", "take loopback down", unix.RTM_NEWLINK, 0, linkFlags(0)},
		{"route_new", "add a route", unix.RTM_NEWROUTE, unix.NLM_F_CREATE, routeTo()},
		{"address_new", "add an address", unix.RTM_NEWADDR, unix.NLM_F_CREATE, addressOf()},
		{"rule_new", "add a routing rule", unix.RTM_NEWRULE, unix.NLM_F_CREATE, ruleFor()},
		{"neighbour_new", "add a neighbour", unix.RTM_NEWNEIGH, unix.NLM_F_CREATE, neighbourAt()},
		{"qdisc_new", "add a queueing discipline", unix.RTM_NEWQDISC, unix.NLM_F_CREATE, discipline()},
		{"namespace_id", "name a foreign namespace", unix.RTM_NEWNSID, 0, append([]byte{0, 0, 0, 0}, attribute(2, 1)...)},
	} {
		add(m.name, m.tries+" by netlink", "EPERM", func(*Site) Finding { return netlink(m.kind, m.flags, m.body) })
	}
	for _, i := range []struct {
		name, tries string
		request     uintptr
	}{
		{"ioctl_flags", "change the flags of loopback", unix.SIOCSIFFLAGS}, {"ioctl_address", "change the address of loopback", unix.SIOCSIFADDR}, {"ioctl_mtu", "change the MTU of loopback", unix.SIOCSIFMTU}, {"ioctl_name", "rename loopback", unix.SIOCSIFNAME},
	} {
		add(i.name, i.tries+" by ioctl", "EPERM", func(*Site) Finding { return interfaceIoctl(i.request) }).NoControl = controlOfIoctl[i.name]
	}
	for _, o := range []struct {
		name, tries string
		level, opt  int
	}{
		{"mark", "mark packets for another route", unix.SOL_SOCKET, unix.SO_MARK}, {"transparent", "bind to foreign addresses", unix.SOL_IP, unix.IP_TRANSPARENT},
		{"repair", "take over a TCP connection's state", unix.SOL_TCP, unix.TCP_REPAIR}, {"receive_force", "use more kernel memory than allowed", unix.SOL_SOCKET, unix.SO_RCVBUFFORCE},
		{"debug", "trace a socket", unix.SOL_SOCKET, unix.SO_DEBUG},
	} {
		add("option_"+o.name, o.tries, "EPERM", func(*Site) Finding {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return notRun("%v", err)
			}
			defer unix.Close(fd)
			return fails(unix.SetsockoptInt(fd, o.level, o.opt, 1))
		})
	}
	add("bind_dns", "bind to port 53 before the name server", "EADDRINUSE", func(s *Site) Finding { return bindOver(s, 0) }).NoControl = noProxy
	add("bind_dns_reuse", "bind beside it with SO_REUSEADDR", "EADDRINUSE", func(s *Site) Finding { return bindOver(s, unix.SO_REUSEADDR) }).NoControl = noProxy
	add("bind_dns_share", "share its port with SO_REUSEPORT", "EADDRINUSE", func(s *Site) Finding { return bindOver(s, unix.SO_REUSEPORT) }).NoControl = noProxy
	add("bind_name", "listen at the address that stands for an allowed name, and be reached by it", "the proxy is reached", proxied(impersonate)).NoControl = noProxy
	add("bind_any", "listen at every address, and be reached by an allowed name", "the proxy is reached", proxied(impersonateAll)).NoControl = noProxy
	return out
}

const noProxy = "without a jail there is no proxy to replace"

var controlOfIoctl = map[string]string{"ioctl_name": "the kernel renames no interface that is up"}

func interfaceIoctl(request uintptr) Finding {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return notRun("%v", err)
	}
	defer unix.Close(fd)
	var ifreq [40]byte
	copy(ifreq[:], "lo")
	switch request {
	case unix.SIOCSIFFLAGS:
		binary.NativeEndian.PutUint16(ifreq[16:], unix.IFF_UP|unix.IFF_RUNNING|unix.IFF_LOOPBACK)
	case unix.SIOCSIFADDR:
		binary.NativeEndian.PutUint16(ifreq[16:], unix.AF_INET)
		copy(ifreq[20:], []byte{127, 0, 0, 1})
	case unix.SIOCSIFMTU:
		binary.NativeEndian.PutUint32(ifreq[16:], 65536)
	case unix.SIOCSIFNAME:
		copy(ifreq[16:], "omnijail0")
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&ifreq)))
	return fails(orNil(errno))
}

// bindOver takes the name server's port.
func bindOver(_ *Site, option int) Finding {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return notRun("%v", err)
	}
	defer unix.Close(fd)
	if option != 0 {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1); err != nil {
			return notRun("%v", err)
		}
	}
	return fails(unix.Bind(fd, &unix.SockaddrInet4{Port: 53}))
}

func impersonate(s *Site) Finding {
	addrs, err := net.LookupHost(allowedName)
	if err != nil {
		return notRun("%v", err)
	}
	return reachedInstead(s, addrs[0])
}

func impersonateAll(s *Site) Finding { return reachedInstead(s, "0.0.0.0") }

// reachedInstead listens and asks for an allowed name: the proxy has to answer.
func reachedInstead(s *Site, address string) Finding {
	l, err := net.Listen("tcp", net.JoinHostPort(address, "443"))
	if err != nil {
		return refused("%v", err)
	}
	defer l.Close()
	took := make(chan struct{})
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Close()
			close(took)
		}
	}()
	f := judged(s.ask(target{host: allowedName}, "GET", request("GET", "/closed", allowedName)))
	select {
	case <-took:
		return succeeded("a listener of the jail's got the connection")
	default:
		return f
	}
}
