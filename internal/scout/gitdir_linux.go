package scout

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// gitDir is a git directory of a grant: that of a working tree, of a submodule or
// of a worktree, or a bare one.
type gitDir struct {
	name    string   // below the grant; "." is the grant itself
	entries []string // those of its names that matter
}

// protectGitDir makes read-only what exists in d of the names that lead git to
// run a program. One that .git is only a file for is protected by that file.
func (s *session) protectGitDir(g *grant, d gitDir) error {
	for _, e := range d.entries {
		n := path.Join(d.name, e)
		switch {
		case s.req.View.GitConfig && isGitConfig(e):
			continue
		case e == "info":
			n = path.Join(n, "attributes")
		case strings.HasPrefix(e, "rebase-"):
			n = path.Join(n, "git-rebase-todo")
		}
		if err := s.protectPath(filepath.Join(g.path, n)); err != nil {
			return err
		}
		if isGitConfig(e) {
			if err := s.protectNamedBy(g, d, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// protectNamedBy protects what the configuration file n of d names: files that it
// includes, and the directory of its hooks.
func (s *session) protectNamedBy(g *grant, d gitDir, n string) error {
	text, err := readBelow(g.file, n, gitFileBytes)
	if err != nil {
		s.notes = append(s.notes, fmt.Sprintf("not looked through for includes: %v", err))
		return nil
	}
	return s.protectIncludes(text, filepath.Join(g.path, n), s.workTrees(g, d, text), false, gitIncludes)
}

// workTrees are the directories in which the hooks of d run.
func (s *session) workTrees(g *grant, d gitDir, config []byte) []string {
	full := filepath.Join(g.path, d.name)
	roots := []string{full}
	if filepath.Base(full) == ".git" {
		roots = append(roots, filepath.Dir(full))
	}
	settings, _ := parseGitConfig(config)
	for _, st := range settings {
		if st.section == "core" && st.subsection == "" && st.key == "worktree" {
			roots = append(roots, absoluteIn(full, st.value))
		}
	}
	return append(roots, s.linkedTrees(g, d)...)
}

func absoluteIn(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// firstLine is what a pointer file of git's holds.
func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.TrimRight(string(line), "\r")
}
