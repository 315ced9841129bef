package scout

import "strings"

// nestGrants holds, in each grant, the places of the grants inside it: that is
// where they are mounted, and nothing between may be renamed away under them.
// Grants are sorted by path, so the last one around another is the innermost.
func (s *session) nestGrants() error {
	for i, g := range s.grants {
		for at := i - 1; at >= 0; at-- {
			rel, inside := strings.CutPrefix(g.path, strings.TrimSuffix(s.grants[at].path, "/")+"/")
			if inside {
				holdParents(s.grants[at], rel)
				s.grants[at].held.add(name{name: rel, dir: g.dir})
				break
			}
		}
	}
	return nil
}
