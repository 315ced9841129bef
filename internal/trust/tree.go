package trust

import "io/fs"

// Tree is a composed part of a jail's file system. All paths are absolute in the
// jail; their parents are directories of mode 0755 that belong to root, as
// everything in a Tree does. No path stands in it twice.
type Tree struct {
	Files []File
	Links []Link
	Binds []Bind
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

const readable fs.FileMode = 0o644

func (t *Tree) file(path string, data []byte) {
	t.Files = append(t.Files, File{Path: path, Data: data, Mode: readable})
}

func (t *Tree) link(path, target string) { t.Links = append(t.Links, Link{Path: path, Target: target}) }

func (t *Tree) add(o Tree) {
	t.Files = append(t.Files, o.Files...)
	t.Links = append(t.Links, o.Links...)
	t.Binds = append(t.Binds, o.Binds...)
}
