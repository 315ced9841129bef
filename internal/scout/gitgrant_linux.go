package scout

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// refuseGitGrant refuses to make writable, by a grant of its own or as the working
// directory, what makes git run a program outside: a grant is mounted over the
// protection that its name has in the grant around it.
func (s *session) refuseGitGrant(req child.Grant, path string) error {
	if !req.Write {
		return nil
	}
	for at := path; at != "/"; at = filepath.Dir(at) {
		base := filepath.Base(at)
		if !gitProtected[base] || s.req.View.GitConfig && isGitConfig(base) {
			continue
		}
		isGit, err := isGitDir(filepath.Dir(at))
		if err != nil {
			return err
		}
		if isGit {
			e := refuse("protect", "%s cannot be granted for writing%s: git outside would run what is written there", path, origin(req.Origin))
			e.Fix = "read_paths: [" + path + "]"
			return e
		}
	}
	return nil
}

// isGitDir reports whether a directory above a grant is a git directory.
func isGitDir(dir string) (bool, error) {
	f, err := openPath(dir)
	if errors.Is(err, unix.EACCES) {
		return filepath.Base(dir) == ".git", nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	var marks gitMarks
	for _, n := range []string{"HEAD", "objects", "refs", "commondir"} {
		if st, err := lstat(f, n); err == nil {
			marks.take([]byte(n), byte(st.Mode&unix.S_IFMT>>12))
		}
	}
	return marks.gitDir(folder{name: dir}), nil
}

// isGitConfig reports whether a name in a git directory is of its configuration.
func isGitConfig(n string) bool { return strings.HasPrefix(n, "config") }
