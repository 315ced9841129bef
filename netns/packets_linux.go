package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/netns/bpf"
)

// packetBuffer bounds what waits to be read of a flood, in bytes of the kernel's.
const packetBuffer = 64 << 10

// packets makes a socket that receives the refused packets of the calling thread's
// namespace, from the network header on. The filter is locked: whoever gets the
// socket sees no more by it. It is attached before the socket is bound, so that no
// other packet is ever in it.
func packets() (*os.File, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make socket for refused packets: %w", err)
	}
	f := os.NewFile(uintptr(fd), "packets")
	if err := errors.Join(
		filter(fd),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_LOCK_FILTER, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, packetBuffer),
		// Each packet passes loopback twice; this is the once that costs less.
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL)}),
	); err != nil {
		f.Close()
		return nil, fmt.Errorf("make socket for refused packets: %w", err)
	}
	return f, nil
}

func filter(fd int) error {
	code, err := bpf.Refused()
	if err != nil {
		return err
	}
	program := make([]unix.SockFilter, len(code))
	for i, c := range code {
		program[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}
