package scout

import (
	"fmt"
	"path/filepath"
)

// gitIncludes is how deep git follows includes.
const gitIncludes = 10

// protectGlobalGit protects what the caller's global configuration includes from a
// granted tree, and the files themselves where they are granted.
func (s *session) protectGlobalGit() error {
	home := s.req.User.Home
	for _, p := range []string{filepath.Join(home, ".config/git/config"), filepath.Join(home, ".gitconfig")} {
		if err := s.protectInclude(p, nil, true, gitIncludes); err != nil {
			return err
		}
	}
	return nil
}

// protectIncludes goes through the text of a configuration file of git's, which
// lies at p. roots are the directories that a relative path to hooks starts from.
// own says that no command could have written the file. What git would not read
// names nothing.
func (s *session) protectIncludes(text []byte, p string, roots []string, own bool, depth int) error {
	settings, err := parseGitConfig(text)
	if err != nil {
		s.notes = append(s.notes, fmt.Sprintf("not looked through for includes: %s: %v", p, err))
	}
	home := s.req.User.Home
	for _, st := range settings {
		var err error
		switch {
		case st.key == "hookspath" && st.section == "core" && st.subsection == "":
			err = s.protectHooks(st.value, roots)
		case st.key == "path" && (st.section == "include" && st.subsection == "" || st.section == "includeif"):
			err = s.protectInclude(includePath(st.value, p, home), roots, own, depth-1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// protectInclude protects an included file and what it includes in turn. A file
// outside of the writable grants is read only if the caller's own leads there.
func (s *session) protectInclude(p string, roots []string, own bool, depth int) error {
	if depth == 0 {
		return nil
	}
	var text []byte
	var err error
	g, n := s.writableAt(p)
	switch {
	case g != nil && n != "":
		if err := s.protectPath(p); err != nil {
			return err
		}
		own = false
		text, err = readBelow(g.file, n, gitFileBytes)
	case own:
		text, err = readRegular(p, gitFileBytes)
	default:
		return nil
	}
	if err != nil {
		return nil // absent, or behind a link that is protected with what it leads to
	}
	return s.protectIncludes(text, p, roots, own, depth)
}

// protectHooks protects the directory that core.hooksPath names.
func (s *session) protectHooks(value string, roots []string) error {
	for _, root := range append([]string{"/"}, roots...) {
		if err := s.protectPath(includePath(value, filepath.Join(root, "hooks"), s.req.User.Home)); err != nil {
			return err
		}
	}
	return nil
}
