package scout

import (
	"path"
	"slices"
	"strings"
)

// patterns are names and paths that are protected wherever they are found.
type patterns struct {
	names map[string]bool
	globs []string   // on one name
	paths [][]string // absolute, by component; "**" is any number of them
}

func (p *patterns) add(pattern string) {
	switch {
	case strings.HasPrefix(pattern, "/"):
		p.paths = append(p.paths, strings.Split(pattern[1:], "/"))
	case isGlob(pattern):
		p.globs = append(p.globs, pattern)
	default:
		if p.names == nil {
			p.names = map[string]bool{}
		}
		p.names[pattern] = true
	}
}

func isGlob(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }

func (p *patterns) name(b []byte) bool {
	if p.names[string(b)] {
		return true
	}
	return len(p.globs) > 0 && slices.ContainsFunc(p.globs, func(g string) bool {
		ok, _ := path.Match(g, string(b))
		return ok
	})
}

func (p *patterns) hasPaths() bool { return len(p.paths) > 0 }

// path reports whether a canonical path is meant.
func (p *patterns) path(full string) bool {
	parts := strings.Split(full[1:], "/")
	return slices.ContainsFunc(p.paths, func(pattern []string) bool { return matchPath(pattern, parts) })
}

// matchPath goes back to the last "**" alone, so that its time is at most the
// product of the lengths.
func matchPath(pattern, parts []string) bool {
	at, star, from := 0, -1, 0
	for i := 0; i < len(parts); {
		switch {
		case at < len(pattern) && pattern[at] == "**":
			star, from = at, i
			at++
			continue
		case at < len(pattern) && matchName(pattern[at], parts[i]):
			at++
			i++
			continue
		case star < 0:
			return false
		}
		from++
		at, i = star+1, from
	}
	for at < len(pattern) && pattern[at] == "**" {
		at++
	}
	return at == len(pattern)
}

func matchName(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}
