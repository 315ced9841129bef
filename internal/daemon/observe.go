package daemon

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/child"
)

const (
	// observerTime bounds how long the last reports are waited for once the
	// command and all it started are gone.
	observerTime = 3 * time.Second
	// shownObservations is how many refused files and calls the client is told of
	// one by one. The journal has them all.
	shownObservations = 12
)

// observe sets a scout to being told what the command calls, and returns the end of
// the socket through which init introduces the command to it. The daemon takes no
// part in the answers.
func (x *execution) observe() (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "observer"), os.NewFile(uintptr(pair[1]), "observed")
	defer ours.Close()
	ready, err := x.m.takeScout()
	if err != nil {
		theirs.Close()
		return nil, err
	}
	x.undo.Add(ready.Close)
	var grants []string
	for _, g := range x.opened.Reply.Grants {
		grants = append(grants, g.Path)
	}
	o, err := caller.Observe(caller.ObserveOptions{
		Child: caller.Child{Init: x.m.cfg.Init, Caller: x.plan.Caller, Group: ready.group},
		Scout: ready.Scout, User: x.plan.User, Grants: grants, Socket: ours,
	})
	if err != nil {
		theirs.Close()
		return nil, err
	}
	ended := make(chan struct{})
	seen := &observed{x: x, refusal: newRefusal(x.plan.Spec, x.opened.Reply)}
	go func() {
		defer close(ended)
		seen.until(o)
	}()
	x.undo.Add(func() error {
		select {
		case <-ended:
		case <-time.After(observerTime):
		}
		return nil
	})
	return theirs, nil
}

// observed takes what the observer of one command says.
type observed struct {
	x       *execution
	refusal refusal
	shown   int
}

// until records and shows what the observer says until it ends. Each record is
// waited for: an observer that says much says it at the journal's speed.
func (s *observed) until(o *caller.Observer) {
	for {
		seen, err := o.Next()
		if err != nil {
			return
		}
		s.one(seen)
	}
}

func (s *observed) one(seen child.Observation) {
	if seen.Kind == child.ObservedNothing {
		s.x.events.note("not everything was observed: "+audit.Escape(seen.What), "")
		return
	}
	rec, text, ok := s.refusal.of(seen)
	if !ok {
		return
	}
	rec.Jail, rec.UID, rec.Policy = s.x.j.id.String(), s.x.j.owner, s.x.plan.Spec.Policy.Name
	rec.Fix = s.x.j.fixFor(rec.Fix)
	rec, err := s.x.m.auditor.own(rec)
	if err != nil {
		return
	}
	switch s.shown++; {
	case s.shown <= shownObservations:
		kind := "file"
		switch rec.Code {
		case string(audit.CodeSyscall):
			kind = "syscall"
		case string(audit.CodePacket):
			kind = "request"
		}
		s.x.events.send(api.Event{Denied: &api.Denied{ID: rec.ID, Kind: kind, What: rec.Path + rec.Method + ": " + rec.Reason, Rule: rec.Origin, Fix: rec.Fix, Text: text}})
	case s.shown == shownObservations+1:
		s.x.events.note("more was refused than is shown here", "omnijailctl policy suggest --jail "+rec.Jail)
	}
}
