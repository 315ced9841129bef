package caller

import "os"

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

// serve makes the scout that of uid, who may have only so many that do not die.
func (s *Scout) serve(uid uint32) (*process, error) {
	if err := abandoned.admit(uid); err != nil {
		return nil, err
	}
	s.p.uid = uid
	return s.p, nil
}
