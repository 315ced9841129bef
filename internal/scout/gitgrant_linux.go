package scout

import (
	"path/filepath"
	"slices"

	"github.com/omnijail/omnijail/internal/child"
)

// refuseGitGrant refuses to make writable, by a grant of its own or as the working
// directory, what makes git run a program outside: a grant is mounted over the
// protection that its name has in the grant around it.
func refuseGitGrant(req child.Grant, path string) error {
	if !req.Write {
		return nil
	}
	for at := path; at != "/"; at = filepath.Dir(at) {
		if filepath.Base(filepath.Dir(at)) == ".git" && slices.Contains(gitProtected, filepath.Base(at)) {
			e := refuse("protect", "%s cannot be granted for writing%s: git outside would run what is written there", path, origin(req.Origin))
			e.Fix = "read_paths: [" + path + "]"
			return e
		}
	}
	return nil
}
