package lowering

import (
	"encoding/json"
	"path"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/omnijail/omnijail/internal/jail"
)

// drawn is a policy as somebody wrote it, and where the command runs. Paths are
// names in the house.
type drawn struct {
	Cwd               string
	Read, Write, Mask []string
	Hidden            []string
}

// draw draws paths from those of the house, so that they meet.
func draw(t *rapid.T, dirs, files []string) drawn {
	some := func(label string, most int, of ...[]string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Concat(of...)), 0, most, rapid.ID).Draw(t, label)
	}
	return drawn{
		Cwd:  rapid.SampledFrom(dirs).Draw(t, "cwd"),
		Read: some("read", 3, dirs, files), Write: some("write", 3, dirs, files), Mask: some("mask", 2, dirs, files),
		Hidden: some("allow hidden", 2, []string{".env", ".ssh", ".e*", ".*"}),
	}
}

// document is d as a client sends it.
func (d drawn) document(t testing.TB, h *house) []byte {
	t.Helper()
	in := func(names []string) (out []string) {
		for _, n := range names {
			out = append(out, h.path(n))
		}
		return out
	}
	b, err := json.Marshal(map[string][]string{
		"read_paths": in(d.Read), "write_paths": in(d.Write), "mask_paths": in(d.Mask), "cwd_allow_hidden": d.Hidden,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// granted are all paths that d grants.
func (d drawn) granted() []string { return slices.Concat([]string{d.Cwd}, d.Read, d.Write) }

// may is what d lets a command do with a file, at most: read what is granted and
// neither masked nor a dot entry that nobody named, write where the innermost
// grant is for writing and git would not run what is written.
func (d drawn) may(file string) sight {
	inner, write := "", false
	for _, g := range d.granted() {
		if jail.Within("/"+g, "/"+file) && len(g) >= len(inner) {
			inner = g
		}
	}
	if inner == "" || d.hidden(file) {
		return sight{}
	}
	write = slices.Contains(d.Write, inner)
	if inner == d.Cwd && !write { // standing in a writable tree
		write = slices.ContainsFunc(d.Write, func(w string) bool { return jail.Within("/"+w, "/"+d.Cwd) })
	}
	return sight{true, write && !d.protected(file)}
}

// hidden reports whether a mask or a dot entry at the top of a grant is or holds
// the file. What is granted by exactly its own path is neither.
func (d drawn) hidden(file string) bool {
	for at := file; at != "."; at = path.Dir(at) {
		if slices.Contains(d.granted(), at) {
			continue
		}
		dot := path.Base(at)[0] == '.' && slices.Contains(d.granted(), path.Dir(at)) && !d.shows(path.Base(at))
		if dot || slices.Contains(d.Mask, at) {
			return true
		}
	}
	return false
}

// shows reports whether a dot entry is one that stays visible.
func (d drawn) shows(name string) bool {
	return slices.ContainsFunc(append([]string{".git", ".husky"}, d.Hidden...), func(glob string) bool {
		ok, _ := path.Match(glob, name)
		return ok
	})
}

// protected reports whether programs outside run the file by themselves: git's own
// whatever is granted, hooks of other tools unless they are granted by name.
func (d drawn) protected(file string) bool {
	for at := file; at != "."; at = path.Dir(at) {
		base := path.Base(at)
		if path.Base(path.Dir(at)) == ".git" && (base == "config" || base == "hooks") {
			return true
		}
		if base == ".husky" {
			return !slices.Contains(d.granted(), at)
		}
	}
	return false
}
