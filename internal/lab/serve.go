package lab

import (
	"net"
	"testing"
)

// Serve listens until the test ends and hands each connection to answer, on a
// goroutine of its own, after which it is closed. It returns where it listens.
func Serve(t testing.TB, network, address string, answer func(net.Conn)) net.Addr {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go Answer(l, answer)
	return l.Addr()
}

// Answer does it on a listener that is there, until that is closed.
func Answer(l net.Listener, answer func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			answer(c)
		}()
	}
}
