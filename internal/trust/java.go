package trust

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// javaStores are where a JDK below /usr has its store: those of distributions as a
// link to the node's, those of vendors as a file.
var javaStores = []string{
	"/usr/lib/jvm/*/lib/security/cacerts",
	"/usr/lib/jvm/*/jre/lib/security/cacerts", // before 9
	"/usr/lib64/jvm/*/lib/security/cacerts",
	"/usr/java/*/lib/security/cacerts",
	"/usr/local/*/lib/security/cacerts",
}

// java reports whether the node has a JDK, and the stores of JDKs that are files
// of their own. No jail sees a way through a link to them.
func (r reader) java() (there bool, own []string) {
	for _, name := range keyStoreNames {
		if _, err := os.Lstat(r.host(name)); err == nil {
			there = true
		}
	}
	for _, pattern := range javaStores {
		found, _ := filepath.Glob(r.host(pattern)) // our patterns are well-formed
		for _, f := range found {
			there = true
			st, err := os.Lstat(f)
			dir, linked := filepath.EvalSymlinks(filepath.Dir(f))
			if err != nil || linked != nil || !st.Mode().IsRegular() || !public(st) {
				continue
			}
			p := "/" + strings.TrimPrefix(strings.TrimPrefix(filepath.Join(dir, filepath.Base(f)), r.root), "/")
			if !slices.Contains(own, p) {
				own = append(own, p)
			}
		}
	}
	return there, own
}
