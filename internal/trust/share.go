package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Certificates is the directory of certificates, which is the same in every jail of
// the node: what is a jail's own in it are links to where that is. It is in no other
// Tree of the node's.
func (n *Node) Certificates() Tree { return n.certs }

// Share writes the directory of certificates below dir, which belongs to root, and
// returns the bind that takes its place in a Tree: hundreds of links are then made
// once, and not for each jail. One with the same content is used again, and none is
// ever removed, since jails may still have it.
func (n *Node) Share(dir string) (Bind, error) {
	at := filepath.Join(dir, n.certs.digest())
	if _, err := os.Lstat(at); err == nil {
		return Bind{Source: at, Path: certsDir}, nil
	}
	half, err := os.MkdirTemp(dir, "half-")
	if err != nil {
		return Bind{}, err
	}
	err = n.certs.write(half, certsDir)
	if err == nil {
		err = os.Rename(half, at)
	}
	if err != nil {
		return Bind{}, errors.Join(fmt.Errorf("share %s: %w", certsDir, err), os.RemoveAll(half))
	}
	return Bind{Source: at, Path: certsDir}, nil
}

// digest names the content of a tree of files and links.
func (t Tree) digest() string {
	h := sha256.New()
	for _, f := range t.Files {
		fmt.Fprintf(h, "%q %o %x\n", f.Path, f.Mode, sha256.Sum256(f.Data))
	}
	for _, l := range t.Links {
		fmt.Fprintf(h, "%q -> %q\n", l.Path, l.Target)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// write makes the files and links of t, all of which lie below base, below dir.
func (t Tree) write(dir, base string) error {
	place := func(p string) (string, error) {
		at := filepath.Join(dir, strings.TrimPrefix(p, base))
		return at, makeDirs(dir, filepath.Dir(at))
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, f := range t.Files {
		at, err := place(f.Path)
		if err == nil {
			err = os.WriteFile(at, f.Data, 0o600)
		}
		if err == nil {
			err = os.Chmod(at, f.Mode) // whatever the umask
		}
		if err != nil {
			return err
		}
	}
	for _, l := range t.Links {
		at, err := place(l.Path)
		if err == nil {
			err = os.Symlink(l.Target, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeDirs makes the directories from top, which is there, down to dir.
func makeDirs(top, dir string) error {
	if dir == top {
		return nil
	}
	if err := makeDirs(top, filepath.Dir(dir)); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	return err
}
