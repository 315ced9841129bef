package trust

import (
	"io/fs"
	"slices"
	"strings"
)

// Tree is a composed part of a jail's file system. All paths are absolute in the
// jail; their parents are directories of mode 0755 that belong to root, as
// everything in a Tree does. No path stands in it twice.
type Tree struct {
	Files  []File
	Links  []Link
	Binds  []Bind
	Covers []Cover
}

// File is a regular file. Data may be shared between trees and must not be changed.
type File struct {
	Path string
	Data []byte
	Mode fs.FileMode
}

// Link is a symbolic link.
type Link struct{ Path, Target string }

// Bind is a directory of the node, to be bound read-only with all that is in it.
type Bind struct{ Source, Path string }

// Cover is a regular file of the node, outside of what is composed, in whose place
// the jail has a file of the tree. One that has gone meanwhile is left.
type Cover struct {
	Path string // canonical
	File string // Path of a File
}

const readable fs.FileMode = 0o644

func (t *Tree) file(path string, data []byte) {
	t.Files = append(t.Files, File{Path: path, Data: data, Mode: readable})
}

func (t *Tree) link(path, target string) { t.Links = append(t.Links, Link{Path: path, Target: target}) }

func (t *Tree) add(o Tree) {
	t.Files = append(t.Files, o.Files...)
	t.Links = append(t.Links, o.Links...)
	t.Binds = append(t.Binds, o.Binds...)
	t.Covers = append(t.Covers, o.Covers...)
}

// split returns what of t lies below dir, and the rest.
func (t Tree) split(dir string) (below, rest Tree) {
	for _, f := range t.Files {
		to := &rest
		if strings.HasPrefix(f.Path, dir+"/") {
			to = &below
		}
		to.Files = append(to.Files, f)
	}
	for _, l := range t.Links {
		to := &rest
		if strings.HasPrefix(l.Path, dir+"/") {
			to = &below
		}
		to.Links = append(to.Links, l)
	}
	rest.Binds, rest.Covers = t.Binds, t.Covers
	return below, rest
}

// except returns t without what lies at paths.
func (t Tree) except(paths []string) Tree {
	t.Files = slices.DeleteFunc(t.Files, func(f File) bool { return slices.Contains(paths, f.Path) })
	t.Links = slices.DeleteFunc(t.Links, func(l Link) bool { return slices.Contains(paths, l.Path) })
	return t
}
