package caller

import (
	"errors"
	"fmt"
	"os"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

// ObserveOptions of Observe. Socket stays the caller's, who closes it when Observe
// returns.
type ObserveOptions struct {
	Child
	Scout  *Scout // that does it
	User   jail.User
	Grants []string // absolute, as the policy gives them
	Socket *os.File // the observer's end of what init sends the listener through
}

// Observer is a scout that is told what the command of a jail calls.
type Observer struct{ p *process }

// Observe sets a scout to it. The scout's end is for the caller to bring about.
func Observe(o ObserveOptions) (*Observer, error) {
	as, err := o.as(o.User)
	if err != nil {
		return nil, err
	}
	p, err := o.Scout.serve(as.UID)
	if err != nil {
		return nil, err
	}
	if err := p.conn.Send(child.ScoutAsk{As: as, Observe: &child.ObserveRequest{Grants: o.Grants}}, o.Socket); err != nil {
		return nil, fmt.Errorf("observer as uid %d: %w", as.UID, err)
	}
	return &Observer{p}, nil
}

// Next waits for the next observation. Its strings are the user's own, capped and
// not otherwise to be trusted. io.EOF is the end.
func (o *Observer) Next() (child.Observation, error) {
	var seen child.Observation
	files, err := o.p.conn.Recv(&seen)
	if err != nil {
		return seen, err
	}
	if len(files) > 0 {
		for _, f := range files {
			f.Close()
		}
		return seen, errors.New("malformed observation")
	}
	for _, s := range []*string{&seen.What, &seen.Grant, &seen.Weaken} {
		*s = (*s)[:min(len(*s), maxText)]
	}
	return seen, nil
}
