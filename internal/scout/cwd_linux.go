package scout

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

func throughALink(cwd string) *child.OpenError {
	e := refuse("no_such_path", "the working directory %s is reached through a link", cwd)
	e.Fix = "name it as realpath prints it, where the link is meant"
	return e
}

// enter finds the working directory, which has to lie in a grant or be the home
// directory, in whose place the jail has an empty one. It is granted by
// being where the client is, not by a policy that names it: so no link leads to
// it, which an earlier command could have put there.
func (s *session) enter() error {
	f, err := openDirect(s.req.View.Cwd)
	if errors.Is(err, unix.ELOOP) {
		return throughALink(s.req.View.Cwd)
	}
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
	if s.visible("/") == nil { // not isolated: all is seen that the caller sees
		return nil
	}
	if home := s.req.User.Home; home != "" && s.cwd == filepath.Clean(home) {
		return nil
	}
	if gs, _ := s.covering(s.cwd); len(gs) == 0 {
		return refuse("no_such_path", "the working directory %s is not granted", s.cwd)
	}
	return nil
}
