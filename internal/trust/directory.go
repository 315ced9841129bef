package trust

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Bounds of a directory that is copied instead of bound.
const (
	maxCopies = 512
	maxDepth  = 8
)

// directory returns a bind of p when everyone may see all that is in it, else
// copies of what everyone may; copies in any case when it is shared.
func (r reader) directory(p string, shared bool) Tree {
	w := walk{reader: r, clean: !shared}
	w.directory(p, 0)
	if w.clean {
		return Tree{Binds: []Bind{{Source: p, Path: p}}}
	}
	return w.rest
}

// walk looks through a directory and keeps what may be copied.
type walk struct {
	reader
	clean bool
	rest  Tree
}

func (w *walk) directory(p string, depth int) {
	entries, err := os.ReadDir(w.host(p))
	if err != nil || depth == maxDepth {
		w.clean = false
		return
	}
	for _, e := range entries {
		name := path.Join(p, e.Name())
		st, err := e.Info()
		if err != nil || !public(st) || secretName(e.Name()) {
			w.clean = false
			continue
		}
		switch {
		case st.IsDir():
			w.directory(name, depth+1)
		case st.Mode()&fs.ModeSymlink != 0:
			w.symlink(name)
		default:
			w.regular(name)
		}
	}
}

func (w *walk) symlink(name string) {
	if target, err := os.Readlink(w.host(name)); err == nil && len(w.rest.Links) < maxCopies {
		w.rest.link(name, target)
	}
}

func (w *walk) regular(name string) {
	if len(w.rest.Files) == maxCopies {
		return
	}
	data, err := w.copyFile(name)
	if err != nil || secretContent(data) {
		w.clean = false
		return
	}
	w.rest.file(name, data)
}

// secretWords in a name keep a file out of every jail although everyone on the
// node may read it: a mode is easily wrong.
var secretWords = []string{"shadow", "secret", "private", "credential", "htpasswd", "keytab", "token"}

// secretSuffixes do the same; .pem is not one, certificates have it.
var secretSuffixes = []string{".key", ".p12", ".pfx", ".password", ".gpg", ".kdbx"}

func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	for _, s := range secretSuffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return strings.HasPrefix(name, "ssh_host_") || strings.HasPrefix(name, "id_rsa") || strings.HasPrefix(name, "id_ed25519")
}

func secretContent(data []byte) bool {
	return bytes.Contains(data, []byte("-----BEGIN")) && bytes.Contains(data, []byte("PRIVATE KEY-----"))
}
