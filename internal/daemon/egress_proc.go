package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/fence"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/netns"
)

// egressKey says whose egress process it is. Two callers, or two owners of a
// policy, never share one, so a parser bug reached from one jail finds the
// secrets of one caller.
type egressKey struct {
	Caller uint32 // who asked
	RunAs  uint32 // as whom the jails run: another than Caller only for root
	Policy uint32 // who owns the policy
}

// egressProc is the daemon's side of one egress process. What the process says
// is hostile: any frame that does not decode ends it, and with it the network of
// its jails.
type egressProc struct {
	key  egressKey
	conn *wire.Conn
	wall *fence.Wall // the kernel's, around it; nil where the node has none
	kill func()      // ends the process; may be called again
	owed *owed
	said statements // of the reader's
	dead chan struct{}
	why  error // after dead is closed; nil when it was the daemon's wish

	mu      sync.Mutex
	seq     uint32
	answers map[uint32]chan wire.Answer
	jails   map[string]*liveJail
	idle    *time.Timer
	former  []string // jails taken back, the latest last
	retired bool     // no new jail: it ends with its last one
	ended   bool     // why is final: what follows is a consequence
}

// maxFormer is how many jails that were taken back are remembered: what the
// process still had to say about them is no offence.
const maxFormer = 1024

// answerTimeout bounds a hang of the egress process, not its work.
const answerTimeout = 10 * time.Second

var errEgressGone = errors.New("the egress process ended")

func newEgressProc(key egressKey, conn *wire.Conn, wall *fence.Wall, kill func()) *egressProc {
	return &egressProc{
		key: key, conn: conn, wall: wall, kill: kill, owed: newOwed(), dead: make(chan struct{}),
		answers: map[uint32]chan wire.Answer{}, jails: map[string]*liveJail{},
	}
}

// hello sends the configuration and the proxy's login, which may be nil.
func (p *egressProc) hello(ctx context.Context, config, login *os.File) error {
	_, err := p.ask(ctx, func(seq uint32) wire.Message { return wire.Hello{Seq: seq, Config: config, Login: login} })
	return err
}

// enlist counts a jail among the process's own, so that it is not ended for want
// of one, and reports whether the process takes new jails at all. The caller
// detaches it.
func (p *egressProc) enlist(j *liveJail) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.retired {
		return false
	}
	p.jails[j.id.String()] = j
	if p.idle != nil {
		p.idle.Stop()
		p.idle = nil
	}
	return true
}

// attach hands over a jail that was enlisted, and its sockets.
func (p *egressProc) attach(ctx context.Context, j *liveJail, spec *os.File, s netns.Sockets) (wire.Answer, error) {
	return p.ask(ctx, func(seq uint32) wire.Message {
		return wire.Attach{
			Seq: seq, Jail: j.id.String(), Spec: spec,
			TCP: s.TCP, UDP: s.UDP, Proxy: s.Proxy, Packets: s.Packets,
		}
	})
}

// detach takes the jail back. Events that were under way arrive before it returns.
func (p *egressProc) detach(id jail.ID) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	p.ask(ctx, func(seq uint32) wire.Message { return wire.Detach{Seq: seq, Jail: id.String()} })
	if err := p.wall.Dismiss(id.String()); err != nil {
		p.end(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.jails, id.String())
	if p.former = append(p.former, id.String()); len(p.former) > maxFormer {
		p.former = p.former[1:]
	}
	if len(p.jails) > 0 {
		return
	}
	wait := egressIdle
	if p.retired {
		wait = 0
	}
	p.idle = time.AfterFunc(wait, p.retire)
}

// egressIdle is how long a process without a jail is kept: its spare keys and
// the values of commands make the next start cheaper.
const egressIdle = 60 * time.Second

// ask sends a message and waits for its answer, also when ctx ends meanwhile: the
// process serves other jails, and it is ended for not answering only.
func (p *egressProc) ask(ctx context.Context, m func(seq uint32) wire.Message) (wire.Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	ch := make(chan wire.Answer, 1)
	p.mu.Lock()
	p.seq++
	seq := p.seq
	p.answers[seq] = ch
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.answers, seq)
		p.mu.Unlock()
	}()
	if err := p.conn.SendMessage(m(seq)); err != nil {
		p.end(err)
		return wire.Answer{}, fmt.Errorf("%w: %w", errEgressGone, err)
	}
	select {
	case a := <-ch:
		if a.Status != wire.OK {
			return a, fmt.Errorf("egress process: %v", a.Status)
		}
		return a, nil
	case <-p.dead:
		return wire.Answer{}, errEgressGone
	case <-ctx.Done():
		p.end(errors.New("it did not answer"))
		return wire.Answer{}, ctx.Err()
	}
}

// end closes the conversation and kills the process.
func (p *egressProc) end(why error) {
	p.mu.Lock()
	if !p.ended {
		p.ended, p.why = true, why
	}
	p.mu.Unlock()
	p.conn.Close()
	p.kill()
}

func (p *egressProc) jail(id string) *liveJail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jails[id]
}

// read takes messages until the process is gone or says something it may not.
func (p *egressProc) read(m *Manager) {
	go p.acknowledge()
	err := p.readAll(m)
	p.end(err)
	p.mu.Lock()
	jails := p.jails
	p.jails = map[string]*liveJail{}
	p.mu.Unlock()
	close(p.dead)
	for _, j := range jails {
		j.cut(audit.CodeAudit, "the egress process of this jail ended, so it has no network any more")
	}
}

func (p *egressProc) readAll(m *Manager) error {
	for {
		err := p.conn.ReceiveEach(maxStatements, func(f wire.Frame) error {
			msg, err := wire.DecodeUp(f)
			if err != nil {
				return err
			}
			return p.take(m, msg)
		})
		if failed := p.write(m); err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
	}
}

func (p *egressProc) take(m *Manager, msg wire.Message) error {
	if a, ok := msg.(wire.Answer); ok {
		if err := p.write(m); err != nil { // in the order of what it says
			return err
		}
		return p.answer(a)
	}
	if events, ok := msg.(wire.Events); ok {
		for _, e := range events {
			if err := p.take(m, e); err != nil {
				return err
			}
		}
		return nil
	}
	id := jailOf(msg)
	j := p.jail(id)
	if j == nil && p.was(id) {
		return p.late(msg)
	}
	if j == nil {
		return fmt.Errorf("%w: a jail that is not its own", wire.ErrProtocol)
	}
	if e, ok := msg.(wire.Event); ok {
		if err := p.said.add(j, e); err != nil || len(p.said.records) < maxStatements {
			return err
		}
		return p.write(m)
	}
	if err := p.write(m); err != nil {
		return err
	}
	switch msg := msg.(type) {
	case wire.Outcome:
		return j.outcome(msg)
	case wire.Refresh:
		return j.refresh(msg)
	case wire.Gone:
		j.cut(audit.CodeAudit, "the proxy of this jail ended, so it has no network any more")
	}
	return nil
}

func jailOf(msg wire.Message) string {
	switch msg := msg.(type) {
	case wire.Event:
		return msg.Jail
	case wire.Outcome:
		return msg.Jail
	case wire.Refresh:
		return msg.Jail
	case wire.Gone:
		return msg.Jail
	}
	return ""
}

// late takes a message about a jail that has just been taken back. Nothing that
// it asks for may happen any more.
func (p *egressProc) late(msg wire.Message) error {
	if e, ok := msg.(wire.Event); ok && !e.NoAck {
		return p.conn.SendMessage(wire.Ack{Records: []wire.Written{{Seq: e.Seq}}})
	}
	return nil
}

// was reports whether id was a jail of this process not long ago.
func (p *egressProc) was(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.former, id)
}

func (p *egressProc) answer(a wire.Answer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := p.answers[a.Seq]
	if ch == nil {
		return fmt.Errorf("%w: an answer to nothing", wire.ErrProtocol)
	}
	delete(p.answers, a.Seq)
	ch <- a
	return nil
}
