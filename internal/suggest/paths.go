package suggest

import (
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

const (
	// alike is how many paths of one form make a form.
	alike = 3
	// fewReads is how many globs for reading one authority are still listed one
	// by one.
	fewReads = 8
)

// generalise returns globs that cover the paths. A segment becomes * where at
// least three paths differ in nothing else; the first segment stays, it says which
// part of a service is meant. Where many paths for reading are left, those below
// one directory become one.
func generalise(paths []string, reading bool) []string {
	var globs [][]string
	for _, p := range paths {
		globs = append(globs, strings.Split(strings.TrimPrefix(p, "/"), "/"))
	}
	globs = numbers(globs)
	for changed := true; changed; {
		changed = false
		for i := 1; i < longest(globs); i++ {
			var did bool
			globs, did = star(globs, i)
			changed = changed || did
		}
	}
	out := covered(joined(globs))
	for depth := longest(globs) - 1; reading && len(out) > fewReads && depth >= 0; depth-- {
		out = covered(below(out, depth))
	}
	slices.Sort(out)
	return out
}

// numbers lets segments that are numbers be any, where enough paths have them in
// the same place: they count things of one kind.
func numbers(globs [][]string) [][]string {
	masked := func(g []string) string {
		out := slices.Clone(g)
		for i := 1; i < len(out); i++ {
			if out[i] != "" && strings.Trim(out[i], "0123456789") == "" {
				out[i] = "*"
			}
		}
		return strings.Join(out, "/")
	}
	// What is around a number may differ too, but for the first segment.
	places := func(g []string) string {
		out := strings.Split(masked(g), "/")
		for i := 1; i < len(out); i++ {
			if out[i] != "*" {
				out[i] = ""
			}
		}
		return strings.Join(out, "/")
	}
	count := map[string]int{}
	for _, g := range globs {
		count[places(g)]++
	}
	var out [][]string
	for _, g := range globs {
		if m := masked(g); strings.Contains(m, "*") && count[places(g)] >= alike {
			g = strings.Split(m, "/")
		}
		out = append(out, g)
	}
	return unique(out)
}

// star replaces segment i of those globs that differ in nothing else.
func star(globs [][]string, i int) (out [][]string, changed bool) {
	rest := func(g []string) string {
		return strings.Join(g[:i], "/") + "\x00" + strings.Join(g[i+1:], "/")
	}
	values := map[string]map[string]bool{}
	for _, g := range globs {
		if i >= len(g) {
			continue
		}
		if values[rest(g)] == nil {
			values[rest(g)] = map[string]bool{}
		}
		values[rest(g)][g[i]] = true
	}
	for _, g := range globs {
		if i < len(g) && g[i] != "*" {
			if v := values[rest(g)]; len(v) >= alike || v["*"] {
				g = slices.Clone(g)
				g[i], changed = "*", true
			}
		}
		out = append(out, g)
	}
	return unique(out), changed
}

// below makes one glob of those that share their first depth segments.
func below(globs []string, depth int) (out []string) {
	count := map[string]int{}
	top := func(g string) string {
		segs := strings.Split(strings.TrimPrefix(g, "/"), "/")
		if len(segs) <= depth {
			return ""
		}
		return strings.TrimSuffix("/"+strings.Join(segs[:depth], "/"), "/") + "/**"
	}
	for _, g := range globs {
		count[top(g)]++
	}
	for _, g := range globs {
		if t := top(g); t != "" && count[t] >= alike {
			g = t
		}
		out = appendNew(out, g)
	}
	return out
}

// covered drops what another glob covers.
func covered(globs []string) (out []string) {
	for _, g := range globs {
		if !slices.ContainsFunc(globs, func(other string) bool { return other != g && egress.MatchPath(other, g) }) {
			out = appendNew(out, g)
		}
	}
	return out
}

func joined(globs [][]string) (out []string) {
	for _, g := range globs {
		out = append(out, "/"+strings.Join(g, "/"))
	}
	return out
}

func longest(globs [][]string) (n int) {
	for _, g := range globs {
		n = max(n, len(g))
	}
	return n
}

func unique(globs [][]string) (out [][]string) {
	seen := map[string]bool{}
	for _, g := range globs {
		if key := strings.Join(g, "/"); !seen[key] {
			seen[key] = true
			out = append(out, g)
		}
	}
	return out
}
