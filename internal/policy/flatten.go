package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// resolver finds what a document extends, beside the presets. It returns nil
// after it has reported why not.
type resolver func(name, key string, at Pos, rep *report) *node

// flatten returns n with what it extends merged below it: first what it names,
// in order, then what it says itself. Errors of each file are reported with that
// file's lines.
func flatten(n *node, resolve resolver, rep *report) *node {
	if n.isNull() || n.kind != mapping {
		return n
	}
	n, mapped := fromReference(n, rep)
	doc := decodeNative(n, mapped, rep)
	n.take("extends")
	var base *node
	for i, e := range doc.Extends {
		base = merge(base, extended(e, index("extends", i), resolve, rep))
	}
	if base == nil {
		return n
	}
	return merge(base, n)
}

// extended returns the tree of one name.
func extended(e Item, key string, resolve resolver, rep *report) *node {
	if resolve != nil {
		return resolve(e.Text, key, e.At, rep)
	}
	if _, ok := presetText(e.Text); !ok && laterPresets[e.Text] == "" {
		rep.add(Error{Pos: e.At, Key: key, Code: "policy_closed",
			Msg: fmt.Sprintf("%q is no preset: here extends takes presets only", e.Text),
			Fix: "your own policies are merged in by omnijailctl; the operator's cannot be extended"})
		return nil
	}
	return flatten(readPreset(e.Text, key, e.At, rep), nil, rep)
}

// finish decodes the merged document once more, because two correct files can
// add up to a wrong one, and keeps the tree for what a request adds.
func finish(n *node, rep *report) *Document {
	if len(rep.errs) > 0 {
		return &Document{}
	}
	notes := rep.notes
	rep.notes = nil
	openNetwork(n, rep)
	doc := decodeNative(n, false, rep)
	doc.Notes = dedup(append(notes, rep.notes...))
	doc.tree = n
	return doc
}

func dedup(lines []string) []string {
	var out []string
	for _, l := range lines {
		out = appendNew(out, l)
	}
	return out
}

// Preset returns a built-in policy as a document of its own.
func Preset(name string) (*Document, error) {
	rep := &report{}
	n := flatten(readPreset(name, "", Pos{File: "preset " + name}, rep), nil, rep)
	doc := finish(n, rep)
	if err := rep.err(); err != nil {
		return nil, err
	}
	doc.Ref = jail.PolicyRef{Name: name, Origin: "preset", Digest: digest(n)}
	return doc, nil
}

// Flatten reads the policy that Find found, as the user, and merges in what it
// extends. It is the client's half; the document it returns is what the daemon
// will see. A root-owned policy or a preset has no Flat: its name is sent.
func (l Library) Flatten(f Found) (*Flat, *Document, error) {
	rep := &report{}
	reader := &userFiles{lib: l}
	n := reader.read(f.Path, f.Label, rep)
	if f.Kind == File {
		absolutise(n, filepath.Dir(f.Path))
	}
	n = flatten(n, reader.resolve, rep)
	if err := rep.err(); err != nil {
		return nil, nil, err
	}
	name := ""
	if f.Kind == User {
		name = f.Name
	}
	flat := newFlat(n, name, reader.files)
	doc, err := flat.Document()
	if err != nil {
		return nil, nil, err
	}
	doc.Notes = dedup(append(rep.notes, doc.Notes...))
	return flat, doc, nil
}

// userFiles reads the user's own policies and remembers which.
type userFiles struct {
	lib   Library
	files []string
	stack []string // names being resolved, against a cycle
}

func (u *userFiles) read(path, label string, rep *report) *node {
	text, err := readFile(path)
	if err != nil {
		rep.errorf(Pos{File: label}, "", "%v", unnamed(err))
		return nil
	}
	u.files = appendNew(u.files, path)
	return readYAML(label, text, rep)
}

func (u *userFiles) resolve(name, key string, at Pos, rep *report) *node {
	f, err := u.lib.named(name)
	switch {
	case slices.Contains(u.stack, name):
		rep.errorf(at, key, "%s extends itself: %s", name, strings.Join(append(u.stack, name), " -> "))
		return nil
	case err != nil || f.Kind == Builtin:
		// readPreset words the error for a name that nothing has.
		return flatten(readPreset(name, key, at, rep), nil, rep)
	case f.Kind == Root:
		rep.add(Error{Pos: at, Key: key, Code: "policy_closed",
			Msg: fmt.Sprintf("%s:1: %q is the operator's and cannot be extended", f.Path, name),
			Fix: "run it as it is: --policy " + name})
		return nil
	}
	u.stack = append(u.stack, name)
	defer func() { u.stack = u.stack[:len(u.stack)-1] }()
	return flatten(u.read(f.Path, f.Label, rep), u.resolve, rep)
}

// absolutise makes the relative paths of a tree absolute against dir. It looks
// at every spelling, because it runs before the reference's are mapped.
func absolutise(n *node, dir string) {
	if n.isNull() {
		return
	}
	for _, f := range n.fields {
		switch f.name {
		case "read_paths", "write_paths", "mask_paths", "unix_sockets", "write_files":
			for _, item := range f.value.items {
				joinPath(item, dir)
				joinPath(item.get("path"), dir)
			}
		case "protect":
			for _, item := range f.value.items {
				joinProtect(item, dir)
			}
		case "os_env", "sandbox":
			absolutise(f.value, dir)
		case "credential_proxy":
			for _, c := range f.value.items {
				absolutiseSource(c.get("source"), dir)
			}
		}
	}
}

func absolutiseSource(n *node, dir string) {
	if n.isNull() {
		return
	}
	joinPath(n.get("file"), dir)
	for _, item := range n.items {
		joinPath(item.get("file"), dir)
	}
}

func joinPath(n *node, dir string) {
	if n != nil && n.kind == scalar && n.tag == tagString && n.text != "" && !strings.HasPrefix(n.text, "/") && !strings.HasPrefix(n.text, "~") {
		n.text = filepath.Join(dir, n.text)
	}
}
