package scout

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/reach"
)

// repository returns the .git of the repository around the working directory where
// git in the jail finds none: one in a directory above what is granted, or (linked)
// the file of a worktree or submodule that names what no grant shows. It is for a
// message: what such a file names is not looked at, since anybody may have written
// it. Nothing is looked for in a directory that is not the user's, such as /home.
func (s *session) repository() (at string, linked bool) {
	for dir := s.cwd; ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if err := unix.Lstat(dir, &st); err != nil || int(st.Uid) != unix.Getuid() {
			return "", false
		}
		at := filepath.Join(dir, ".git")
		err := unix.Lstat(at, &st)
		shown := at
		switch {
		case absent(err):
			continue
		case err != nil:
			return "", false
		case st.Mode&unix.S_IFMT == unix.S_IFREG:
			shown, linked = gitFileTarget(at), true
		case st.Mode&unix.S_IFMT != unix.S_IFDIR:
			return "", false
		}
		if gs, _ := s.covering(shown); shown == "" || len(gs) > 0 {
			return "", false
		}
		return at, linked
	}
}

// gitFileTarget is the path that a .git file names, empty for none.
func gitFileTarget(file string) string {
	f, err := reach.Open(file, false)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := readOpened(f, gitPointerBytes)
	if err != nil {
		return ""
	}
	to, ok := strings.CutPrefix(firstLine(text), "gitdir: ")
	if !ok {
		return ""
	}
	return absoluteIn(filepath.Dir(file), to)
}
