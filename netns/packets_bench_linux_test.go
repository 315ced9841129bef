package netns

import (
	"io"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/ownthread"
)

// BenchmarkOpenPackets is what an observed jail pays at its start, and
// BenchmarkClosePackets at its end: the kernel waits for all that may still use the
// socket.
func BenchmarkOpenPackets(b *testing.B)  { benchPackets(b, true) }
func BenchmarkClosePackets(b *testing.B) { benchPackets(b, false) }

func benchPackets(b *testing.B, opening bool) {
	n := newNetBy(b, Steered)
	for b.Loop() {
		if !opening {
			b.StopTimer()
		}
		open(b, n, Opening{Packets: true})
		if opening {
			b.StopTimer()
		} else {
			b.StartTimer()
		}
		n.socks.Packets.Close()
		b.StartTimer()
		n.socks.Packets = nil
	}
}

// BenchmarkLoopback carries bytes from a jail to a listener of ours, with a socket
// for refused packets and without.
func BenchmarkLoopback(b *testing.B) {
	for _, observed := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "observed"}[observed]
		for _, size := range []int{1, 1 << 20} {
			b.Run(name+map[int]string{1: "/turns", 1 << 20: "/bulk"}[size], func(b *testing.B) {
				n := newNetBy(b, Steered)
				open(b, n, Opening{Packets: observed})
				jail, ours := connected(b, n)
				go io.Copy(ours, ours)
				out, in := make([]byte, size), make([]byte, size)
				b.SetBytes(int64(size))
				for b.Loop() {
					go jail.Write(out)
					if _, err := io.ReadFull(jail, in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// connected is a connection from inside n, and our end of it.
func connected(b *testing.B, n *Net) (jail, ours net.Conn) {
	b.Helper()
	l, err := net.FileListener(n.Sockets().TCP[0])
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	err = ownthread.Run(func() error {
		if err := unix.Setns(int(n.FD().Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "jail")
		defer f.Close()
		if err := unix.Connect(fd, sockaddr(netip.MustParseAddr("198.18.1.7"), 443)); err != nil {
			return err
		}
		jail, err = net.FileConn(f)
		return err
	})
	if err == nil {
		ours, err = l.Accept()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { jail.Close(); ours.Close() })
	return jail, ours
}
