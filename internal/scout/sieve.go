package scout

import "strings"

// sieve lets names through by their first byte and their length. Of the many files
// of a workspace few names can matter, and only those are looked at.
type sieve [256]uint64

// longest is the length from which on names are told apart no more.
const longest = 63

func (s *sieve) add(name string) { s[name[0]] |= 1 << min(len(name), longest) }

// addPattern lets through what a glob on one name may mean.
func (s *sieve) addPattern(pattern string) {
	switch at := strings.IndexAny(pattern, `*?[\`); at {
	case -1:
		s.add(pattern)
	case 0:
		for i := range s {
			s[i] = ^uint64(0)
		}
	default:
		s[pattern[0]] = ^uint64(0)
	}
}

// addFolded lets a name through however it is spelled in capitals. Two letters have
// longer ones that some file systems take for the same: the Kelvin sign and the
// long s. No name begins with either.
func (s *sieve) addFolded(name string) {
	lower, upper := strings.ToLower(name), strings.ToUpper(name)
	for size := len(name); size <= len(name)+2*strings.Count(lower, "k")+strings.Count(lower, "s"); size++ {
		s[lower[0]] |= 1 << min(size, longest)
		s[upper[0]] |= 1 << min(size, longest)
	}
}

func (s *sieve) passes(name []byte) bool { return s[name[0]]>>min(len(name), longest)&1 != 0 }

// everyday lets through what always matters, whatever a policy says.
var everyday = func() (s sieve) {
	for n := range gitProtected {
		s.add(n)
	}
	for _, n := range []string{"HEAD", "objects", "refs", "info", "commondir", ".git"} {
		s.add(n)
	}
	s.addPattern("rebase-*")
	for n := range plainChildren {
		s.addFolded(n)
	}
	for _, names := range [][]string{layout, controls[plainKind], notables[plainKind]} {
		for _, n := range names {
			s.addFolded(n)
		}
	}
	return s
}()

// sieveOf lets through what control and asked mean besides.
func sieveOf(control, asked patterns) sieve {
	s := everyday
	if asked.hasPaths() {
		s.addPattern("*")
	}
	for _, p := range []patterns{control, asked} {
		for n := range p.names {
			s.add(n)
		}
		for _, g := range p.globs {
			s.addPattern(g)
		}
	}
	return s
}
