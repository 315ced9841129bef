package trust

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// certificates returns the node's directory of certificates by subject hash: its
// links, and its files that hold certificates and no key. The bundle and Java's
// store are not in it, they are made anew. hashFree is the first number that the
// node leaves free for our CA's hash.
func (r reader) certificates() (t Tree, hashFree int) {
	entries, err := os.ReadDir(r.host(certsDir))
	if err != nil {
		return Tree{}, 0
	}
	taken := map[string]bool{}
	for _, e := range entries {
		name := path.Join(certsDir, e.Name())
		if name == debianBundle || e.Name() == "omnijail.pem" {
			continue
		}
		if e.Type()&fs.ModeSymlink != 0 {
			if target, err := os.Readlink(r.host(name)); err == nil && certificateTarget(target) {
				t.link(name, target)
				taken[e.Name()] = true
			}
			continue
		}
		data, err := r.copyFile(name)
		if err == nil && bytes.Contains(data, []byte("-----BEGIN CERTIFICATE-----")) && !bytes.Contains(data, []byte("PRIVATE KEY")) {
			t.file(name, data)
			taken[e.Name()] = true
		}
	}
	for taken[fmt.Sprintf("%s.%d", subjectHash, hashFree)] {
		hashFree++
	}
	return t, hashFree
}

// certificateTarget accepts a link to a neighbour or to a file of a package.
func certificateTarget(target string) bool {
	return !strings.Contains(target, "/") || strings.HasPrefix(path.Clean(target), "/usr/")
}
