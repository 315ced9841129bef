package egress

import (
	"errors"
	"fmt"
	"strings"
)

// AnyPath is the glob of a rule that does not look at the path.
const AnyPath = "/**"

const maxGlob = 1024

// CheckGlob says what is wrong with a path glob. In a glob * stays in a segment,
// ? is one character or escape, and ** is any number of whole segments. What
// could never match a judged path is an error.
func CheckGlob(glob string) error {
	_, err := canonicalGlob(glob)
	return err
}

// MatchPath reports whether a normalised path matches a checked glob, in time
// linear in the path. A trailing /** matches the bare prefix too.
func MatchPath(glob, path string) bool {
	return matchSegments(segments(glob), segments(path))
}

func segments(path string) []string {
	return strings.Split(strings.TrimPrefix(path, "/"), "/")
}

// canonicalGlob returns the glob in the form of normalised paths.
func canonicalGlob(glob string) (string, error) {
	if len(glob) > maxGlob {
		return "", fmt.Errorf("path: the glob is longer than %d bytes", maxGlob)
	}
	if i := strings.IndexAny(glob, "[]{}"); i >= 0 {
		return "", fmt.Errorf("path: %q has no meaning in a glob: escape it as %%%X", glob[i], glob[i])
	}
	parts := strings.Split(glob, "?")
	for i, part := range parts {
		norm, err := normalizeEscapes(part)
		if err != nil {
			return "", err
		}
		parts[i] = norm
	}
	canon := strings.Join(parts, "?")
	if !strings.HasPrefix(canon, "/") {
		return "", errors.New("path: it does not begin with a slash")
	}
	if err := checkGlobSegments(canon); err != nil {
		return "", err
	}
	return canon, nil
}

func checkGlobSegments(canon string) error {
	for _, seg := range segments(canon) {
		switch {
		case seg == "." || seg == "..":
			return errors.New("path: a dot segment never matches")
		case strings.Contains(seg, "**") && seg != "**":
			return errors.New("path: ** stands for whole segments, as in /a/**/b")
		}
	}
	if err := CheckPath(canon); err != nil {
		return fmt.Errorf("%w never matches", err)
	}
	return nil
}

// matchSegments is greedy: after each ** the following segments are matched at
// their first place, so there is one point to go back to, never a tree of them.
func matchSegments(glob, path []string) bool {
	g, p := 0, 0
	star, mark := -1, 0
	for p < len(path) {
		switch {
		case g < len(glob) && glob[g] == "**":
			star, mark = g, p
			g++
		case g < len(glob) && matchSegment(glob[g], path[p]):
			g++
			p++
		case star >= 0:
			mark++
			g, p = star+1, mark
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == "**" {
		g++
	}
	return g == len(glob)
}

// matchSegment matches within one segment, as greedily. A lone * needs at least
// one character, so that /repos/* does not reach /repos/.
func matchSegment(glob, seg string) bool {
	if glob == "*" {
		return seg != ""
	}
	g, s := 0, 0
	star, mark := -1, 0
	for s < len(seg) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, s
			g++
		case g < len(glob) && glob[g] == '?':
			g++
			s += width(seg, s)
		case g < len(glob) && glob[g] == seg[s]:
			g++
			s++
		case star >= 0:
			mark += width(seg, mark)
			g, s = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

// width is the length of the character at i; an escape is one character.
func width(seg string, i int) int {
	if seg[i] == '%' && i+3 <= len(seg) {
		return 3
	}
	return 1
}
