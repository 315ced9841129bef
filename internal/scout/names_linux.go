package scout

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// layered is a grant in the second phase, with the trees that its names are
// found in.
type layered struct {
	*grant
	reply  child.OpenGrant
	layers []child.Layer
	in     []int
	ids    []inode // of the layers, as they were first opened
	tree   *os.File
	clones []*os.File
}

// answerNames does the second phase: it opens the layers, has the daemon make trees
// of them, and opens every name in its tree. going is false after a refusal.
func (s *session) answerNames(conn *seqpacket.Conn, trees []*os.File) (going bool, err error) {
	gs, opened, err := s.openLayers(trees)
	if err != nil {
		return false, conn.Send(child.ScoutNamesReply{Err: refusal(err)})
	}
	if len(opened) > 0 {
		err := conn.Send(child.ScoutLayers{}, opened...)
		seqpacket.CloseAll(opened)
		if err != nil {
			return false, err
		}
		clones, err := conn.Recv(&child.ScoutNames{})
		if err != nil {
			return false, err
		}
		defer seqpacket.CloseAll(clones)
		if err := deal(gs, clones); err != nil {
			return false, conn.Send(child.ScoutNamesReply{Err: refusal(err)})
		}
	}
	names, found, err := resolve(gs)
	if err != nil {
		return false, conn.Send(child.ScoutNamesReply{Err: refusal(err)})
	}
	defer seqpacket.CloseAll(found)
	return true, conn.Send(names, found...)
}

// openLayers opens the layers below the grants, where they can be cloned from.
func (s *session) openLayers(trees []*os.File) (gs []*layered, opened []*os.File, err error) {
	if len(trees) != len(s.grants) {
		return nil, nil, refuse("open_failed", "%d trees for %d grants", len(trees), len(s.grants))
	}
	for i, g := range s.grants {
		l := &layered{grant: g, reply: g.reply(), tree: trees[i]}
		l.layers, l.in = l.reply.Layers()
		for _, layer := range l.layers {
			n := g.names()[layer.Name]
			f, id, err := openName(g.file, n)
			if err != nil {
				return nil, nil, unprotectable(g, n, err)
			}
			l.ids, opened = append(l.ids, id), append(opened, f)
		}
		gs = append(gs, l)
	}
	return gs, opened, nil
}

func deal(gs []*layered, clones []*os.File) error {
	for _, g := range gs {
		if len(clones) < len(g.layers) {
			return refuse("open_failed", "too few trees of layers")
		}
		g.clones, clones = clones[:len(g.layers)], clones[len(g.layers):]
	}
	return nil
}

// resolve opens every name of every grant below the trees. A masked name that has
// gone needs no mask. A protected one that has gone, or any that has become a link
// or another kind, is an error: what was promised cannot be kept.
func resolve(gs []*layered) (reply child.ScoutNamesReply, found []*os.File, err error) {
	for _, g := range gs {
		names := g.names()
		optional := len(names) - len(g.masked.list)
		layerOf := map[int]int{}
		for i, l := range g.layers {
			layerOf[l.Name] = i
		}
		for i, n := range names {
			f, id, err := openName(g.treeOf(i, names))
			if errors.Is(err, unix.ENOENT) && i >= optional {
				reply.Found = append(reply.Found, false)
				continue
			}
			if l, ok := layerOf[i]; ok && err == nil && id != g.ids[l] {
				err = errReplaced
			}
			if err != nil {
				return reply, nil, unprotectable(g.grant, n, err)
			}
			reply.Found, found = append(reply.Found, true), append(found, f)
		}
	}
	return reply, found, nil
}

// treeOf returns the tree that name i lies in, and the name as it is called there.
func (g *layered) treeOf(i int, names []name) (*os.File, name) {
	n := names[i]
	if l := g.in[i]; l >= 0 {
		n.name = strings.TrimPrefix(n.name, names[g.layers[l].Name].name+"/")
		return g.clones[l], n
	}
	return g.tree, n
}

var errReplaced = errors.New("it was replaced while it was looked at")

func openName(tree *os.File, n name) (*os.File, inode, error) {
	flags := uint64(unix.O_PATH)
	if n.link {
		flags |= unix.O_NOFOLLOW
	}
	f, err := openHow(int(tree.Fd()), n.name, flags, beneath)
	if err != nil {
		return nil, inode{}, err
	}
	st, id, err := stat(f)
	if err == nil && (isDir(st) != n.dir || n.link != (st.Mode&unix.S_IFMT == unix.S_IFLNK)) {
		err = errReplaced
	}
	if err != nil {
		f.Close()
		return nil, inode{}, err
	}
	return f, id, nil
}

func unprotectable(g *grant, n name, err error) error {
	return refuse("protect", "%s cannot be protected: %v", filepath.Join(g.path, n.name), cause(err))
}

// cause puts the kernel's answer into words.
func cause(err error) error {
	switch {
	case errors.Is(err, unix.ELOOP):
		return errors.New("it is a link")
	case errors.Is(err, unix.EXDEV):
		return errors.New("it is a mount of its own")
	case errors.Is(err, unix.ENOENT):
		return errors.New("it has gone")
	case errors.Is(err, unix.EACCES):
		return errors.New("you may not read it")
	}
	return err
}
