package netns

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hang bounds a probe that nobody answers; no test passes by reaching it.
const hang = 5 * time.Second

// probeDial connects to an address and returns the first line it is sent.
func probeDial(args []string) string {
	c, err := net.DialTimeout(args[0], args[1], hang)
	if err != nil {
		return errno(err)
	}
	defer c.Close()
	return firstLine(c)
}

// probeServe listens on an address in the jail, connects to another, and says
// who answered.
func probeServe(args []string) string { return squat(args[0], args[1], nil) }

// probeSquat is probeServe with each socket option that lets sockets share ports
// or bind what is not on a device.
func probeSquat(args []string) string {
	return squat(args[0], args[1], func(network, _ string, rc syscall.RawConn) (err error) {
		ctlErr := rc.Control(func(fd uintptr) {
			err = errors.Join(
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1),
				unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1))
			if network == "tcp6" {
				err = errors.Join(err, unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1))
			}
		})
		return errors.Join(err, ctlErr)
	})
}

func squat(bind, dial string, control func(string, string, syscall.RawConn) error) string {
	lc := net.ListenConfig{Control: control}
	l, err := lc.Listen(context.Background(), "tcp", bind)
	if err != nil {
		return "bind: " + errno(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "jail\n")
			c.Close()
		}
	}()
	return probeDial([]string{"tcp", dial})
}

// probeDatagram sends a datagram and waits for what comes back.
func probeDatagram(args []string) string {
	c, err := net.DialTimeout("udp", args[0], hang)
	if err != nil {
		return errno(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		return errno(err)
	}
	return firstLine(c)
}

// probeAsk is probeDatagram from a socket that is not connected and so sees where
// the answer comes from.
func probeAsk(args []string) string {
	to, err := net.ResolveUDPAddr("udp", args[0])
	if err != nil {
		return errno(err)
	}
	c, err := net.ListenUDP("udp", nil)
	if err != nil {
		return errno(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(hang))
	if _, err := c.WriteToUDP([]byte("hello\n"), to); err != nil {
		return errno(err)
	}
	buf := make([]byte, 512)
	n, from, err := c.ReadFromUDPAddrPort(buf)
	if err != nil {
		return errno(err)
	}
	return strings.TrimSpace(string(buf[:n])) + " from " + net.UDPAddrFromAddrPort(from).String()
}

// probeListen binds one network address and says how that went.
func probeListen(args []string) string {
	if strings.HasPrefix(args[0], "udp") {
		_, err := net.ListenPacket(args[0], args[1])
		return errno(err)
	}
	_, err := net.Listen(args[0], args[1])
	return errno(err)
}

// probeSocket makes a socket of a family, type and protocol.
func probeSocket(args []string) string {
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(args[i])
	}
	_, err := unix.Socket(n[0], n[1], n[2])
	return errno(err)
}

func firstLine(c net.Conn) string {
	c.SetDeadline(time.Now().Add(hang))
	buf := make([]byte, 512)
	n, err := c.Read(buf)
	if err != nil {
		return errno(err)
	}
	return strings.TrimSpace(string(buf[:n]))
}

// errno names the error as the system does.
func errno(err error) string {
	if err == nil {
		return "ok"
	}
	if e := syscall.Errno(0); errors.As(err, &e) {
		return unix.ErrnoName(e)
	}
	return err.Error()
}
