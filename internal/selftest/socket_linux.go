package selftest

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// socketAttempts make sockets of families and protocols that lead past the
// proxy, or into parts of the kernel that a jail has no use for.
func socketAttempts() (out []Attempt) {
	type socket struct {
		name, tries         string
		family, kind, proto uintptr
		needs               string // why a kernel without this part says the same
		guarantee           jail.Guarantee
		pair                bool
	}
	const module = "a kernel without this family gives the same answer"
	list := []socket{
		{name: "vsock", tries: "AF_VSOCK, to the machine that runs this one", family: unix.AF_VSOCK, kind: unix.SOCK_STREAM, guarantee: jail.NetworkOnlyProxy, needs: module},
		{name: "alg", tries: "AF_ALG, the kernel's ciphers", family: unix.AF_ALG, kind: unix.SOCK_SEQPACKET, needs: module},
		{name: "packet", tries: "AF_PACKET, raw frames", family: unix.AF_PACKET, kind: unix.SOCK_RAW, proto: 0x0300, guarantee: jail.NetworkOnlyProxy},
		{name: "packet_old", tries: "SOCK_PACKET of AF_INET, raw frames the old way", family: unix.AF_INET, kind: unix.SOCK_PACKET, proto: 0x0300, guarantee: jail.NetworkOnlyProxy},
		{name: "raw", tries: "a raw IPv4 socket", family: unix.AF_INET, kind: unix.SOCK_RAW, proto: unix.IPPROTO_RAW, guarantee: jail.NetworkOnlyProxy},
		{name: "raw_icmp", tries: "a raw ICMP socket", family: unix.AF_INET, kind: unix.SOCK_RAW, proto: unix.IPPROTO_ICMP, guarantee: jail.NetworkOnlyProxy},
		{name: "raw6", tries: "a raw IPv6 socket", family: unix.AF_INET6, kind: unix.SOCK_RAW, proto: unix.IPPROTO_RAW, guarantee: jail.NetworkOnlyProxy},
		{name: "mptcp", tries: "multipath TCP, which may take another path than it connected by", family: unix.AF_INET, kind: unix.SOCK_STREAM, proto: unix.IPPROTO_MPTCP, guarantee: jail.NetworkOnlyProxy, needs: module},
		{name: "mptcp6", tries: "the same over IPv6", family: unix.AF_INET6, kind: unix.SOCK_STREAM, proto: unix.IPPROTO_MPTCP, guarantee: jail.NetworkOnlyProxy, needs: module},
		{name: "sctp", tries: "SCTP", family: unix.AF_INET, kind: unix.SOCK_STREAM, proto: unix.IPPROTO_SCTP, guarantee: jail.NetworkOnlyProxy, needs: module},
		{name: "dccp", tries: "DCCP", family: unix.AF_INET, kind: 6, proto: unix.IPPROTO_DCCP, guarantee: jail.NetworkOnlyProxy, needs: module},
		{name: "alg_high", tries: "AF_ALG with a bit above the argument", family: high | unix.AF_ALG, kind: unix.SOCK_SEQPACKET, needs: module},
		{name: "packet_high", tries: "AF_PACKET with a bit above the argument", family: high | unix.AF_PACKET, kind: unix.SOCK_RAW, guarantee: jail.NetworkOnlyProxy},
		{name: "vsock_pair", tries: "a pair of AF_VSOCK", family: unix.AF_VSOCK, kind: unix.SOCK_STREAM, pair: true, needs: "no kernel makes pairs of it"},
		{name: "tipc_pair", tries: "a pair of AF_TIPC", family: unix.AF_TIPC, kind: unix.SOCK_STREAM, pair: true, needs: module},
	}
	for _, k := range []struct {
		name   string
		number uintptr
	}{
		{"sock_diag", unix.NETLINK_SOCK_DIAG}, {"xfrm", unix.NETLINK_XFRM}, {"audit", unix.NETLINK_AUDIT}, {"netfilter", unix.NETLINK_NETFILTER},
		{"connector", unix.NETLINK_CONNECTOR}, {"kobject_uevent", unix.NETLINK_KOBJECT_UEVENT}, {"generic", unix.NETLINK_GENERIC},
		{"crypto", unix.NETLINK_CRYPTO}, {"selinux", unix.NETLINK_SELINUX}, {"iscsi", unix.NETLINK_ISCSI}, {"fib_lookup", unix.NETLINK_FIB_LOOKUP},
		{"scsitransport", unix.NETLINK_SCSITRANSPORT}, {"rdma", unix.NETLINK_RDMA}, {"usersock", unix.NETLINK_USERSOCK},
	} {
		list = append(list, socket{name: "netlink_" + k.name, tries: "netlink of the kind " + k.name, family: unix.AF_NETLINK, kind: unix.SOCK_RAW, proto: k.number, needs: module})
	}
	list = append(list, socket{name: "netlink_high", tries: "netlink of another kind with bits above the arguments", family: high | unix.AF_NETLINK, kind: high | unix.SOCK_RAW, proto: high | unix.NETLINK_GENERIC})
	for _, f := range []struct {
		name   string
		number uintptr
	}{
		{"ax25", unix.AF_AX25}, {"ipx", unix.AF_IPX}, {"appletalk", unix.AF_APPLETALK}, {"x25", unix.AF_X25}, {"key", unix.AF_KEY},
		{"rds", unix.AF_RDS}, {"pppox", unix.AF_PPPOX}, {"llc", unix.AF_LLC}, {"ib", unix.AF_IB}, {"can", unix.AF_CAN}, {"tipc", unix.AF_TIPC},
		{"bluetooth", unix.AF_BLUETOOTH}, {"rxrpc", unix.AF_RXRPC}, {"phonet", unix.AF_PHONET}, {"ieee802154", unix.AF_IEEE802154},
		{"caif", unix.AF_CAIF}, {"nfc", unix.AF_NFC}, {"kcm", unix.AF_KCM}, {"qipcrtr", unix.AF_QIPCRTR}, {"smc", unix.AF_SMC},
		{"xdp", unix.AF_XDP}, {"mctp", unix.AF_MCTP},
	} {
		list = append(list, socket{name: f.name, tries: "family " + f.name + ", whose module the kernel would load", family: f.number, kind: unix.SOCK_DGRAM, needs: module})
	}
	for _, s := range list {
		if s.guarantee == "" {
			s.guarantee = jail.Syscalls
		}
		out = append(out, Attempt{
			Name: "socket." + s.name, Tries: "make a socket: " + s.tries, Must: "no such socket", Guarantee: s.guarantee, NoControl: s.needs,
			probe: func(*Site) Finding { return makeSocket(s.family, s.kind, s.proto, s.pair) },
		})
	}
	return out
}

func makeSocket(family, kind, proto uintptr, pair bool) Finding {
	var fds [2]int32
	var errno unix.Errno
	if pair {
		_, _, errno = unix.Syscall6(unix.SYS_SOCKETPAIR, family, kind, proto, uintptr(unsafe.Pointer(&fds)), 0, 0)
		fds[0] = max(fds[0], fds[1])
	} else {
		var fd uintptr
		fd, _, errno = unix.Syscall(unix.SYS_SOCKET, family, kind, proto)
		fds[0] = int32(fd)
	}
	if errno != 0 {
		return refused("%v", errno)
	}
	unix.Close(int(fds[0]))
	return succeeded("the socket was made")
}
