package scout

import (
	"path/filepath"
	"strings"
)

// nestGrants holds, in each grant, the places of the grants inside it: that is
// where they are mounted, and nothing between may be renamed away under them.
// Grants are sorted by path, so the last one around another is the innermost.
func (s *session) nestGrants() error {
	for i, g := range s.grants {
		for at := i - 1; at >= 0; at-- {
			rel, inside := strings.CutPrefix(g.path, strings.TrimSuffix(s.grants[at].path, "/")+"/")
			if inside {
				if err := oneMount(g, s.grants[at]); err != nil {
					return err
				}
				holdParents(s.grants[at], rel)
				s.grants[at].held.add(name{name: rel, dir: g.dir})
				break
			}
		}
	}
	return nil
}

// oneMount refuses a grant on another mount than the grant around it: its place would
// have to be looked for on a mount that is not the one that was cloned.
func oneMount(inner, outer *grant) error {
	_, here, err := fdinfo(inner.file)
	if err != nil {
		return err
	}
	_, around, err := fdinfo(outer.file)
	if err != nil || here == around || !inner.dir {
		return err
	}
	e := refuse("grant", "%s is on a mount of its own inside %s, which is granted too", inner.path, outer.path)
	key := map[bool]string{false: "read_paths", true: "write_paths"}[outer.write] // no more than it is granted for
	e.Fix = key + ": [" + outer.path + "] alone, with what is mounted there; or another working directory than " + filepath.Base(outer.path)
	return e
}
