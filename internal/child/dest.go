package child

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Destinations that are ours: nothing may be granted there or above.
var (
	closedTrees = []string{"/proc", "/dev", "/sys", "/run", "/etc", "/usr/libexec/omnijail"}
	ownRoots    = []string{"/tmp", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/opt", "/nix"}
)

// CheckDest refuses a canonical path as the destination of a grant when it is the
// root, is or contains a place that the jail fills itself (system directories,
// /tmp, the scratch home), or lies in a tree that is ours alone. A grant below
// /tmp or below the home is fine.
func CheckDest(dest, home string, system []string) error {
	if !filepath.IsAbs(dest) || filepath.Clean(dest) != dest || strings.ContainsRune(dest, 0) || !utf8.ValidString(dest) {
		return fmt.Errorf("%q is not a canonical path in UTF-8", dest)
	}
	for _, tree := range closedTrees {
		if Within(tree, dest) {
			return fmt.Errorf("%s lies in %s, which a jail has of its own", dest, tree)
		}
	}
	if home != "" && Within(dest, filepath.Clean(home)) {
		return fmt.Errorf("%s is or contains the home directory %s, in whose place a jail has an empty one", dest, home)
	}
	for _, list := range [][]string{ownRoots, closedTrees, system} {
		for _, own := range list {
			if Within(dest, own) {
				return fmt.Errorf("%s is or contains %s, which a jail has of its own", dest, own)
			}
		}
	}
	return nil
}

// Within reports whether the cleaned absolute path p is root or lies below it.
// It looks at the text alone.
func Within(root, p string) bool {
	if root == "/" {
		return strings.HasPrefix(p, "/")
	}
	return p == root || strings.HasPrefix(p, root) && p[len(root)] == '/'
}
