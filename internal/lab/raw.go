package lab

import (
	"context"
	"io"
	"net"
)

// accept serves each connection of l with one function until l closes.
func (u *Upstream) accept(l net.Listener, serve func(net.Conn)) {
	u.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(u.base, func() { c.Close() })
			u.running.Go(func() {
				defer stop()
				defer c.Close()
				serve(c)
			})
		}
	})
}

func greetAsSSH(c net.Conn) {
	io.WriteString(c, "SSH-2.0-lab\r\n")
	io.Copy(io.Discard, c)
}

func echo(c net.Conn) { io.Copy(c, c) }
