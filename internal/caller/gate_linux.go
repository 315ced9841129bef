package caller

import (
	"context"
	"fmt"
	"os"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// GateOptions of StartGate. The files stay the caller's.
type GateOptions struct {
	Child
	Scout     *Scout // in Group; stays the caller's to close. nil starts one
	User      jail.User
	Publish   []uint16
	NodePorts []uint16
	Listeners []*os.File               // of the jail's loopback, one for each of NodePorts
	Socket    func() (*os.File, error) // makes an unconnected one in the jail's network
}

// StartGate has a scout carry connections between the node's loopback and the
// jail's until the scout is closed. A port that the caller may not bind is a
// *jail.OpenError.
func StartGate(ctx context.Context, o GateOptions) error {
	as, err := o.as(o.User)
	if err != nil {
		return err
	}
	var files []*os.File
	defer func() { seqpacket.CloseAll(files) }()
	for range child.GateStock {
		f, err := o.Socket()
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	s, err := (&Options{Child: o.Child, Scout: o.Scout}).scout(as.UID)
	if err != nil {
		return err
	}
	release := s.until(ctx, OpenTime)
	var reply child.GateReply
	ask := child.GateRequest{Publish: o.Publish, NodePorts: o.NodePorts}
	err = s.conn.Send(child.ScoutAsk{As: as, Gate: &ask}, append(files[:child.GateStock:child.GateStock], o.Listeners...)...)
	if err == nil {
		_, err = s.conn.Recv(&reply)
	}
	release()
	if err == nil && reply.Err != nil {
		err = bounded(reply.Err)
	}
	if err != nil {
		s.end()
		return fmt.Errorf("carry ports as uid %d: %w", as.UID, contextError(ctx, err))
	}
	go s.supply(o.Socket)
	return nil
}

// supply answers a gate's requests for sockets until it has ended.
func (s *process) supply(socket func() (*os.File, error)) {
	for {
		if _, err := s.conn.Recv(&child.GateAsk{}); err != nil {
			return
		}
		f, err := socket()
		if err != nil { // no descriptors, or the jail is ending: the gate asks again, or is gone
			err = s.conn.Send(child.GateSocket{})
		} else {
			err = s.conn.Send(child.GateSocket{}, f)
			f.Close()
		}
		if err != nil {
			return
		}
	}
}
