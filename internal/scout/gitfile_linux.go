package scout

import (
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// gitPointerBytes bounds a file that holds one path.
const gitPointerBytes = 8 << 10

// readBelow reads a regular file below dir, no link on the way.
func readBelow(dir fileFD, n string, limit int64) ([]byte, error) {
	f, err := openHow(int(dir.Fd()), n, unix.O_PATH, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readOpened(f, limit)
}

type fileFD interface{ Fd() uintptr }

// linkedTrees are the working trees that the worktrees of d are for.
func (s *session) linkedTrees(g *grant, d gitDir) (roots []string) {
	for _, n := range g.git {
		if path.Dir(path.Dir(n)) != path.Clean(d.name) || path.Base(path.Dir(n)) != "worktrees" {
			continue
		}
		if text, err := readBelow(g.file, path.Join(n, "gitdir"), gitPointerBytes); err == nil {
			roots = append(roots, filepath.Dir(absoluteIn(filepath.Join(g.path, n), firstLine(text))))
		}
	}
	return roots
}

// followGitFile protects the git directory that a .git file at n names, when that
// lies in a writable grant and names the file in turn: as the worktree's gitdir
// does, or a submodule's core.worktree. One that only claims to be a repository's
// protects nothing; git does not believe it either.
func (s *session) followGitFile(g *grant, n string) error {
	text, err := readBelow(g.file, n, gitPointerBytes)
	if err != nil {
		return nil // no file; what else it can be git does not read
	}
	value, ok := strings.CutPrefix(firstLine(text), "gitdir: ")
	if !ok {
		return nil
	}
	file := filepath.Join(g.path, n)
	to := absoluteIn(filepath.Dir(file), value)
	in, at := s.writableAt(to)
	if in == nil || at == "" || in.hasGit(at) {
		return nil
	}
	if !s.pointsBack(in, at, file) {
		return nil
	}
	in.git = append(in.git, at)
	return s.protectGitDir(in, gitDir{at, everyGitEntry})
}

// everyGitEntry stands for a listing: what does not exist is not protected.
var everyGitEntry = []string{
	"config", "config.worktree", "hooks", "commondir", "gitdir", "sequencer", "info", "rebase-merge", "rebase-apply",
}

// pointsBack reports whether the directory n of g is the git directory of the
// working tree that file is the .git of.
func (s *session) pointsBack(g *grant, n, file string) bool {
	dir := filepath.Join(g.path, n)
	if text, err := readBelow(g.file, path.Join(n, "gitdir"), gitPointerBytes); err == nil {
		return absoluteIn(dir, firstLine(text)) == file
	}
	text, err := readBelow(g.file, path.Join(n, "config"), gitFileBytes)
	if err != nil {
		return false
	}
	settings, err := parseGitConfig(text)
	if err != nil {
		return false
	}
	for _, st := range settings {
		if st.section == "core" && st.subsection == "" && st.key == "worktree" && absoluteIn(dir, st.value) == filepath.Dir(file) {
			return true
		}
	}
	return false
}
