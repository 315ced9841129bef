package scout

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// maxCarried bounds the connections that a gate carries at a time.
const maxCarried = 256

// askAgain is how long a gate waits after it was told that no socket can be made.
const askAgain = time.Second

// gate carries connections between the node's loopback and a jail's. It listens and
// connects on the node as the caller, by no other right than the caller's own. The
// sockets on the jail's side were made by root in the jail's network, for no process
// of the caller's can enter that.
type gate struct {
	conn  *seqpacket.Conn
	stock chan *os.File // unconnected, of the jail's network
	used  chan struct{}
	room  chan struct{}
}

// serveGate carries until the daemon closes the connection.
func serveGate(conn *seqpacket.Conn, req child.GateRequest, files []*os.File, err error) error {
	if err == nil && len(files) != child.GateStock+len(req.NodePorts) {
		err = errors.New("a gate has its sockets and a listener for each port")
	}
	var published [][]*os.File
	for _, port := range req.Publish {
		if err != nil {
			break
		}
		var ls []*os.File
		if ls, err = publish(port); err == nil {
			published = append(published, ls)
		}
	}
	if err != nil {
		return conn.Send(child.GateReply{Err: refusal(err)})
	}
	g := &gate{conn: conn, stock: make(chan *os.File, child.GateStock), used: make(chan struct{}, child.GateStock), room: make(chan struct{}, maxCarried)}
	for _, f := range files[:child.GateStock] {
		if err := g.put(f); err != nil {
			return err
		}
	}
	if err := conn.Send(child.GateReply{}); err != nil {
		return err
	}
	for i, ls := range published {
		for _, l := range ls {
			go g.carry(l, func() (*os.File, error) { return g.inside(req.Publish[i]) })
		}
	}
	for i, f := range files[child.GateStock:] {
		l, err := pollable(f)
		if err != nil {
			return err
		}
		go g.carry(l, func() (*os.File, error) { return outside(req.NodePorts[i]) })
	}
	return g.refill()
}

// publish listens on both loopback addresses of the node; on one where there is no
// IPv6.
func publish(port uint16) ([]*os.File, error) {
	four, err := listenOn(&unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		return nil, unpublished(port, err)
	}
	six, err := listenOn(&unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}})
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EADDRNOTAVAIL):
		return []*os.File{four}, nil
	case err != nil:
		four.Close()
		return nil, unpublished(port, err)
	}
	return []*os.File{four, six}, nil
}

func unpublished(port uint16, err error) error {
	e := refuse("publish", "port %d of the node cannot be published: %v", port, err)
	switch {
	case errors.Is(err, unix.EACCES):
		e.Reason = fmt.Sprintf("port %d of the node cannot be published: you may not bind it yourself", port)
		e.Fix = "a port from 1024 on (net.ipv4.ip_unprivileged_port_start of this node)"
	case errors.Is(err, unix.EADDRINUSE):
		e.Reason = fmt.Sprintf("port %d of the node cannot be published: another program listens there", port)
	}
	return e
}

// carry joins each connection to l with one that to makes.
func (g *gate) carry(l *os.File, to func() (*os.File, error)) {
	for {
		from, err := accept(l)
		if err != nil {
			return
		}
		g.room <- struct{}{}
		go func() {
			defer func() { <-g.room }()
			peer, err := to()
			if err != nil {
				from.Close()
				return
			}
			splice(from, peer)
		}()
	}
}

// inside connects to a port of the jail's loopback.
func (g *gate) inside(port uint16) (*os.File, error) {
	f := <-g.stock
	g.used <- struct{}{}
	if err := connect(f, port); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// outside connects to a port of the node's loopback, as the caller.
func outside(port uint16) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "connected")
	if err := connect(f, port); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// refill replaces the sockets that were used, until the daemon is gone.
func (g *gate) refill() error {
	go func() {
		for range g.used {
			if g.conn.Send(child.GateAsk{}) != nil {
				return
			}
		}
	}()
	for {
		files, err := g.conn.Recv(&child.GateSocket{})
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := g.put(f); err != nil {
				return err
			}
		}
		if len(files) == 0 {
			time.AfterFunc(askAgain, func() { g.used <- struct{}{} })
		}
	}
}

func (g *gate) put(f *os.File) error {
	p, err := pollable(f)
	if err != nil {
		return err
	}
	g.stock <- p
	return nil
}
