package scout

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// resolve opens every name of every grant below the staged trees. A masked name
// that has gone needs no mask. A protected one that has gone, or any that has
// become a link or another kind, is an error: what was promised cannot be kept.
func (s *session) resolve(trees []*os.File) (reply child.ScoutNamesReply, found []*os.File, err error) {
	if len(trees) != len(s.grants) {
		return reply, nil, refuse("open_failed", "%d trees for %d grants", len(trees), len(s.grants))
	}
	for i, g := range s.grants {
		optional := len(g.names()) - len(g.masked)
		for j, n := range g.names() {
			f, err := openName(trees[i], n)
			if errors.Is(err, unix.ENOENT) && j >= optional {
				reply.Found = append(reply.Found, false)
				continue
			}
			if err != nil {
				return reply, nil, refuse("protect", "%s cannot be protected: %v", filepath.Join(g.path, n.name), cause(err))
			}
			reply.Found, found = append(reply.Found, true), append(found, f)
		}
	}
	return reply, found, nil
}

func openName(tree *os.File, n name) (*os.File, error) {
	f, err := openBelow(tree, n.name)
	if err != nil {
		return nil, err
	}
	st, _, err := stat(f)
	if err == nil && isDir(st) != n.dir {
		err = errors.New("it was replaced while it was looked at")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// cause puts the kernel's answer into words.
func cause(err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		return errors.New("it is a link")
	case errors.Is(err, unix.EXDEV):
		return errors.New("it is a mount of its own")
	case errors.Is(err, unix.ENOENT):
		return errors.New("it has gone")
	}
	return err
}
