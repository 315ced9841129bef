package selftest

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// netlink sends one message of NETLINK_ROUTE and judges the acknowledgement.
func netlink(kind, flags uint16, body []byte) Finding {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return notRun("%v", err)
	}
	defer unix.Close(fd)
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m = append(m, 1, 0, 0, 0, 0, 0, 0, 0) // sequence, port
	if err := unix.Sendto(fd, append(m, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return refused("%v", err)
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, reply, 0)
	if err != nil || n < unix.SizeofNlMsghdr+4 {
		return refused("%v", err)
	}
	errno := -int32(binary.NativeEndian.Uint32(reply[unix.SizeofNlMsghdr:]))
	switch unix.Errno(errno) {
	case unix.EPERM, unix.EACCES:
		return refused("%v", unix.Errno(errno))
	case 0:
		return succeeded("it worked")
	}
	return succeeded("the kernel looked at it: %v", unix.Errno(errno))
}

// attribute is one 32-bit attribute.
func attribute(kind uint16, value uint32) []byte {
	b := binary.NativeEndian.AppendUint16(nil, 8)
	b = binary.NativeEndian.AppendUint16(b, kind)
	return binary.NativeEndian.AppendUint32(b, value)
}

const loopback = 1 // the index of lo in every network namespace

// linkFlags is an ifinfomsg for lo.
func linkFlags(flags uint32) []byte {
	b := []byte{unix.AF_UNSPEC, 0, 0, 0}
	b = binary.NativeEndian.AppendUint32(b, loopback)
	b = binary.NativeEndian.AppendUint32(b, flags)
	return binary.NativeEndian.AppendUint32(b, 0) // change nothing: what is tested is the right to
}

func newDummy() []byte {
	b := make([]byte, unix.SizeofIfInfomsg)
	// IFLA_LINKINFO { IFLA_INFO_KIND "dummy" }
	inner := []byte{9, 0, 1, 0, 'd', 'u', 'm', 'm', 'y', 0, 0, 0}
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(inner)))
	b = binary.NativeEndian.AppendUint16(b, unix.IFLA_LINKINFO)
	return append(b, inner...)
}

func routeTo() []byte {
	b := []byte{unix.AF_INET, 32, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_LINK, unix.RTN_UNICAST, 0, 0, 0, 0}
	return append(append(b, attribute(unix.RTA_DST, 0x01020304)...), attribute(unix.RTA_OIF, loopback)...)
}

func addressOf() []byte {
	b := binary.NativeEndian.AppendUint32([]byte{unix.AF_INET, 32, 0, 0}, loopback)
	return append(b, attribute(unix.IFA_LOCAL, 0x0b00007f)...)
}

func ruleFor() []byte {
	b := []byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, 0, 0, unix.RTN_UNICAST, 0, 0, 0, 0}
	return append(b, attribute(unix.FRA_PRIORITY, 12345)...)
}

func neighbourAt() []byte {
	b := []byte{unix.AF_INET, 0, 0, 0}
	b = binary.NativeEndian.AppendUint32(b, loopback)
	b = append(b, 0x80, 0, 0, 0) // NUD_PERMANENT
	return append(b, attribute(unix.NDA_DST, 0x0101007f)...)
}

func discipline() []byte {
	b := []byte{unix.AF_UNSPEC, 0, 0, 0}
	b = binary.NativeEndian.AppendUint32(b, loopback)
	b = binary.NativeEndian.AppendUint32(b, 0)
	b = binary.NativeEndian.AppendUint32(b, everything)
	b = binary.NativeEndian.AppendUint32(b, 0)
	return append(b, 10, 0, 1, 0, 'p', 'f', 'i', 'f', 'o', 0, 0, 0) // TCA_KIND
}

// everything is TC_H_ROOT: the discipline of the whole device.
const everything = 0xffffffff
