package scout

import (
	"path/filepath"

	"github.com/omnijail/omnijail/internal/reach"
)

// judgeLink hides what a dot entry leads to where its name says that it carries
// secrets: .env as a link to config/env is config/env, in whichever grant that lies.
// What is granted itself stays. A link that leads nowhere, or where nothing may be
// looked for, leads nowhere in the jail either.
func (s *session) judgeLink(g *grant, dot string) error {
	full := filepath.Join(g.path, dot)
	f, err := reach.Open(full, true)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, _, err := stat(f)
	if err != nil {
		return err
	}
	p, err := realPath(f)
	if err != nil {
		return refuse("hidden", "cannot find where %s leads: %v", full, err)
	}
	if exactly, inner := s.grantedAt(p); exactly || inner != "" {
		return nil
	}
	if gs, _ := s.covering(p); len(gs) == 0 {
		return nil
	}
	s.hideEverywhere(p, st)
	if g.path == s.cwd {
		s.hidden = append(s.hidden, dot)
	}
	return nil
}
