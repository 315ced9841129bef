package caller

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

// PumpOptions of StartPump.
type PumpOptions struct {
	Child
	Scout  *Scout // in Group; stays the caller's to close. nil starts one
	User   jail.User
	TTY    bool
	Source *os.File // the terminal's master, or the read end of a pipe; stays the caller's
}

// Pump is a scout that keeps the output of a command without a client. Its methods
// may be called at the same time.
type Pump struct {
	mu sync.Mutex
	p  *process
}

// StartPump has a scout read source for as long as the Pump is not closed.
func StartPump(ctx context.Context, o PumpOptions) (*Pump, error) {
	as, err := o.as(o.User)
	if err != nil {
		return nil, err
	}
	s, err := (&Options{Child: o.Child, Scout: o.Scout}).scout(as.UID)
	if err != nil {
		return nil, err
	}
	release := s.until(ctx, OpenTime)
	defer release()
	var reply child.PumpReply
	err = s.conn.Send(child.ScoutAsk{As: as, Pump: &child.PumpRequest{TTY: o.TTY}}, o.Source)
	if err == nil {
		_, err = s.conn.Recv(&reply)
	}
	if err == nil && reply.Err != nil {
		err = bounded(reply.Err)
	}
	if err != nil {
		s.end()
		return nil, fmt.Errorf("keep the output as uid %d: %w", as.UID, contextError(ctx, err))
	}
	return &Pump{p: s}, nil
}

// Attach gives a stream both ways, Logs one that is only written to. The stream
// stays the caller's, who closes its copy.
func (p *Pump) Attach(ctx context.Context, stream *os.File) error {
	return p.send(ctx, child.PumpAsk{Attach: true}, stream)
}

// Logs has what was kept written to stream, and with follow what comes.
func (p *Pump) Logs(ctx context.Context, stream *os.File, follow bool) error {
	return p.send(ctx, child.PumpAsk{Follow: follow}, stream)
}

func (p *Pump) send(ctx context.Context, ask child.PumpAsk, stream *os.File) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.p.until(ctx, OpenTime)()
	return p.p.conn.Send(ask, stream)
}

// Close ends the scout and what it serves. It may be called again.
func (p *Pump) Close() error {
	p.p.end()
	return nil
}
