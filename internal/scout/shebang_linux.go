package scout

import (
	"path/filepath"
	"strings"
)

// maxInterpreters is how many scripts may interpret one another; the kernel's
// bound is about the same.
const maxInterpreters = 5

// admitInterpreter makes what interprets the script at the canonical path exe
// visible, if it is one. A script in a tree that the jail may write can name what
// it likes: what it names by a path is not exposed, and what env is to look for is
// found in the caller's PATH and nowhere else.
func (s *session) admitInterpreter(exe string) error {
	written := false
	for range maxInterpreters {
		words := interpreter(exe)
		if len(words) == 0 || !strings.HasPrefix(words[0], "/") {
			return nil
		}
		trees, err := s.writableTrees()
		if err != nil {
			return err
		}
		_, inside, err := s.mounts.inside(trees, exe)
		if err != nil {
			return err
		}
		written = written || inside
		if exe, err = s.admitNamed(words[0], written); err != nil || exe == "" {
			return err
		}
		name := lookedUp(words)
		if name == "" {
			continue
		}
		if exe, err = s.admitFirst(name, written); err != nil || exe == "" {
			return err
		}
	}
	return nil
}

// admitNamed admits a program by its path, and returns where it lies; empty when
// it does not exist, which is for the kernel to say.
func (s *session) admitNamed(p string, written bool) (string, error) {
	if executable(p) != nil {
		return "", nil
	}
	places, err := trail(p)
	if err != nil {
		return "", nil
	}
	called, err := s.admit(places, written)
	if err == nil {
		err = s.admitPythonHome(called)
	}
	return places[len(places)-1].path, err
}

// lookedUp is the program that a line for env looks for in PATH.
func lookedUp(words []string) string {
	if filepath.Base(words[0]) != "env" {
		return ""
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
}

// admitFirst admits the first program of that name in the caller's PATH that can
// be shown; when none can, the first refusal stands.
func (s *session) admitFirst(name string, written bool) (string, error) {
	if strings.Contains(name, "/") {
		return s.admitNamed(absolute(name, s.cwd), written)
	}
	var refused error
	for dir := range strings.SplitSeq(s.req.Path, ":") {
		exe, err := s.admitNamed(absolute(dir, s.cwd)+"/"+name, false)
		if err == nil && exe != "" {
			return exe, nil
		}
		if refused == nil {
			refused = err
		}
	}
	return "", refused
}
