package scout

import "errors"

// enter finds the canonical working directory, which has to lie in a grant.
func (s *session) enter() error {
	f, err := openPath(s.req.View.Cwd)
	if err != nil {
		return refuse("no_such_path", "cannot open the working directory %s as you: %v", s.req.View.Cwd, errors.Unwrap(err))
	}
	defer f.Close()
	st, _, err := stat(f)
	if err != nil {
		return err
	}
	if !isDir(st) {
		return refuse("no_such_path", "the working directory %s is not a directory", s.req.View.Cwd)
	}
	if s.cwd, err = realPath(f); err != nil {
		return refuse("no_such_path", "cannot find the path of the working directory: %v", err)
	}
	if gs, _ := s.covering(s.cwd); len(gs) == 0 {
		return refuse("no_such_path", "the working directory %s is not granted", s.cwd)
	}
	return nil
}
