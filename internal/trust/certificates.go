package trust

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// hashName is a name in a directory of certificates by subject.
var hashName = regexp.MustCompile(`^[0-9a-f]{8}\.[0-9]+$`)

// certificates returns the node's directory of certificates by subject hash: its
// links, and its files that hold certificates and no key. Where the node has none
// (RHEL, NixOS), the jail has one all the same, of the roots. hashFree is the first
// number that is left free for our CA's hash. What storeLinks makes is not in it.
func (r reader) certificates(roots [][]byte) (t Tree, hashFree int) {
	taken := map[string]bool{}
	ours := append(append([]string{debianBundle, certsDir + "/omnijail.pem"}, bundleNames...), keyStoreNames...)
	entries, _ := os.ReadDir(r.host(certsDir)) // a node without it has its roots elsewhere
	for _, e := range entries {
		name := path.Join(certsDir, e.Name())
		if slices.Contains(ours, name) {
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
	if !slices.ContainsFunc(slices.Collect(maps.Keys(taken)), hashName.MatchString) {
		t.hashed(roots, taken)
	}
	for taken[fmt.Sprintf("%s.%d", subjectHash, hashFree)] {
		hashFree++
	}
	return t, hashFree
}

// hashed adds each root under its hash.
func (t *Tree) hashed(roots [][]byte, taken map[string]bool) {
	count := map[string]int{}
	for _, der := range roots {
		hash, err := certificateHash(der)
		if err != nil {
			continue // the bundle has it, for who can read it
		}
		name := fmt.Sprintf("%s.%d", hash, count[hash])
		count[hash]++
		taken[name] = true
		t.file(path.Join(certsDir, name), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
}

// certificateTarget accepts a link to a neighbour or to a file of a package.
func certificateTarget(target string) bool {
	return !strings.Contains(target, "/") || strings.HasPrefix(path.Clean(target), "/usr/")
}
