package trust

import (
	"fmt"
	"os"
	"path/filepath"
)

// Node is the node's part of every jail's /etc: read once, shared by all jails,
// never changed.
type Node struct {
	tree     Tree
	certs    Tree   // certsDir
	bundle   []byte // PEM of the node's roots
	keyStore keyStore
	java     bool     // the node has a JDK
	jdks     []string // stores of JDKs that are files of their own
	hashFree int      // first number free under subjectHash
	nssKeys  []byte   // a database without keys; nil where the node has no NSS
	stamp    stamp
}

// Snapshot reads what jails get of this node's /etc.
func Snapshot() (*Node, error) { return snapshot("/") }

// snapshot reads the node below root; the paths it gives are those below it.
func snapshot(root string) (*Node, error) {
	r := reader{root: root}
	n := &Node{stamp: r.stamp()}
	bundle, roots, err := r.roots()
	if err != nil {
		return nil, err
	}
	n.bundle, n.keyStore = bundle, newKeyStore(roots)
	n.java, n.jdks = r.java()
	if n.nssKeys, err = r.nssKeys(); err != nil {
		return nil, err
	}
	certs, hashFree := r.certificates(roots)
	n.hashFree = hashFree
	n.storeLinks(&n.tree)
	n.tree.add(certs)
	for _, name := range r.wanted() {
		n.tree.add(r.entry(name).except(chromiumNames))
	}
	n.certs, n.tree = n.tree.split(certsDir)
	return n, nil
}

// Roots returns the node's roots as PEM. The bytes are shared.
func (n *Node) Roots() []byte { return n.bundle }

// Tree is what is composed in every jail of this node, whosever it is. Compose
// returns the same with more. It is shared.
func (n *Node) Tree() Tree { return n.tree }

// Stale reports whether the node's /etc or trust store has changed since.
func (n *Node) Stale() bool { return n.stamp != (reader{root: "/"}).stamp() }

// stamp changes when a file of /etc or of the certificates is replaced, which is
// how packages and ldconfig write, and when a JDK comes or goes.
type stamp struct{ etc, certs, cache, pki, java int64 }

func (r reader) stamp() stamp {
	at := func(name string) int64 {
		st, err := os.Stat(r.host(name))
		if err != nil {
			return 0
		}
		return st.ModTime().UnixNano()
	}
	return stamp{at("/etc"), at(certsDir), at("/etc/ld.so.cache"), at("/etc/pki/ca-trust/extracted/pem"), at("/usr/lib/jvm")}
}

// reader reads below a root directory, which is / outside of tests.
type reader struct{ root string }

func (r reader) host(path string) string { return filepath.Join(r.root, path) }

// maxFile bounds one copied file, in bytes.
const maxFile = 1 << 20

// copyFile reads a regular file that belongs to root and that everyone may read.
func (r reader) copyFile(path string) ([]byte, error) {
	st, err := os.Stat(r.host(path))
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || !public(st) || st.Size() > maxFile {
		return nil, fmt.Errorf("%s is not a file for every jail", path)
	}
	return os.ReadFile(r.host(path))
}
