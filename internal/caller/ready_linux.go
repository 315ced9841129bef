package caller

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

// Scout is a scout that was started ahead of time. It is root, cannot be dumped,
// and waits to be asked; what it is asked makes it the caller first.
type Scout struct{ p *process }

// Start starts a scout in a group that nothing else is in.
func Start(init *os.File, g Group) (*Scout, error) {
	p, err := Child{Init: init, Group: g}.start()
	if err != nil {
		return nil, err
	}
	return &Scout{p}, nil
}

// Alive reports whether the scout still waits.
func (s *Scout) Alive() bool {
	select {
	case <-s.p.ended:
		return false
	default:
		return true
	}
}

// Close ends the scout, asked or not. It may be called again.
func (s *Scout) Close() error {
	s.p.end()
	return nil
}

// Stays reports whether the scout has said that it waits for its caller's next
// request.
func (s *Scout) Stays() bool { return s.p.stays.Load() }

// hereTime is how long a scout that stays may take to say that it is still there. One
// that its caller has stopped does not.
const hereTime = time.Second

// Here asks a scout that stays for c's next request whether it is still there. One
// that is not must not be asked for more, and is the caller's to close.
func (s *Scout) Here(ctx context.Context, c Child, user jail.User) error {
	as, err := c.as(user)
	if err != nil {
		return err
	}
	defer s.p.until(ctx, hereTime)()
	if err := s.p.conn.Send(child.ScoutAsk{As: as, Again: true}); err != nil {
		return err
	}
	if _, err = s.p.conn.Recv(&child.ScoutHere{}); err != nil {
		return fmt.Errorf("a scout that stayed for uid %d: %w", as.UID, err)
	}
	return nil
}

// serve makes the scout that of uid, who may have only so many that do not die.
func (s *Scout) serve(uid uint32) (*process, error) {
	if err := abandoned.admit(uid); err != nil {
		return nil, err
	}
	s.p.uid = uid
	return s.p, nil
}
