package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/omnijail/omnijail/internal/jail"
)

// Kind says where a policy comes from.
type Kind string

// The kinds.
const (
	File    Kind = "file"   // named by its path, or ./.omnijail.yaml
	User    Kind = "user"   // in the user's directory
	Root    Kind = "root"   // in the operator's directory: closed
	Builtin Kind = "preset" // part of the program
)

// Library is where named policies are looked for.
type Library struct {
	Root  string                  // the operator's directory
	User  string                  // the user's; empty in the daemon, which opens nothing of a user's
	Owned func(path string) error // refuses a file of Root that others than root could change; nil does not look
}

// Found is a policy that exists.
type Found struct {
	Kind     Kind
	Name     string // empty for a File
	Path     string // absolute; empty for a Builtin
	Label    string // how messages call the file: "./.omnijail.yaml"
	Shadowed []string
}

// LocalName is the policy file that a directory rules itself with.
const LocalName = ".omnijail.yaml"

// UserDir is where a user's named policies are.
func UserDir(home string) string { return filepath.Join(home, ".config/omnijail/policies") }

// IsFile reports whether a --policy argument names a file rather than a policy.
func IsFile(arg string) bool {
	return strings.Contains(arg, "/") || strings.HasSuffix(arg, ".yaml")
}

// Find finds the policy that --policy names, or without one the policy that
// rules in cwd: ./.omnijail.yaml, the user's default, the operator's default,
// the preset offline. Whether a file may be obeyed is the trust store's matter.
func (l Library) Find(arg, cwd string) (Found, error) {
	switch {
	case arg == "":
		return l.standard(cwd)
	case IsFile(arg):
		path := arg
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		return Found{Kind: File, Path: filepath.Clean(path), Label: label(path, cwd)}, nil
	}
	return l.named(arg)
}

func (l Library) standard(cwd string) (Found, error) {
	for _, f := range []Found{
		{Kind: File, Path: filepath.Join(cwd, LocalName), Label: "./" + LocalName},
		l.entry(User, l.User, "default"),
		l.entry(Root, l.Root, "default"),
	} {
		if ok, err := exists(f.Path); ok || err != nil {
			return f, err
		}
	}
	return Found{Kind: Builtin, Name: "offline"}, nil
}

// named looks a name up in the operator's directory, then the user's, then the
// presets. A policy that loses is reported as shadowed.
func (l Library) named(name string) (Found, error) {
	if !ValidName(name) {
		return Found{}, fmt.Errorf("%.64q is not the name of a policy; a file needs a / or .yaml", name)
	}
	var all []Found
	for _, f := range []Found{l.entry(Root, l.Root, name), l.entry(User, l.User, name)} {
		ok, err := exists(f.Path)
		if err != nil {
			return Found{}, err
		}
		if ok {
			all = append(all, f)
		}
	}
	if _, ok := presetText(name); ok || laterPresets[name] != "" {
		all = append(all, Found{Kind: Builtin, Name: name})
	}
	if len(all) == 0 {
		return Found{}, fmt.Errorf("there is no policy %q (omnijailctl policy ls shows what there is)", name)
	}
	for _, f := range all[1:] {
		all[0].Shadowed = append(all[0].Shadowed, f.String())
	}
	return all[0], nil
}

func (l Library) entry(kind Kind, dir, name string) Found {
	if dir == "" {
		return Found{}
	}
	path := filepath.Join(dir, name+".yaml")
	return Found{Kind: kind, Name: name, Path: path, Label: path}
}

// String says where the policy is, for people.
func (f Found) String() string {
	if f.Kind == Builtin {
		return "preset " + f.Name
	}
	return f.Label
}

// Load returns a policy by name without opening anything of a user's: the
// operator's, else a preset. It is the daemon's half; an empty name is the
// operator's default, else offline.
func (l Library) Load(name string) (*Document, error) {
	l.User = ""
	if name == "" {
		name = "default"
		if ok, err := exists(filepath.Join(l.Root, "default.yaml")); err != nil || !ok {
			doc, err := Preset("offline")
			if err == nil {
				doc.Ref.Fallback = true
			}
			return doc, err
		}
	}
	f, err := l.named(name)
	if err != nil {
		return nil, Errors{{Key: "policy", Code: "no_such_policy", Msg: err.Error()}}
	}
	if f.Kind == Builtin {
		return Preset(name)
	}
	return l.loadRoot(f)
}

func (l Library) loadRoot(f Found) (*Document, error) {
	if l.Owned != nil {
		if err := l.Owned(f.Path); err != nil {
			return nil, Errors{{Pos: Pos{File: f.Path}, Msg: err.Error()}}
		}
	}
	text, err := readFile(f.Path)
	if err != nil {
		return nil, Errors{{Pos: Pos{File: f.Path}, Msg: unnamed(err).Error()}}
	}
	rep := &report{}
	n := flatten(readYAML(f.Path, text, rep), nil, rep)
	doc := finish(n, rep)
	if err := rep.err(); err != nil {
		return nil, err
	}
	doc.Closed = true
	doc.Ref = jail.PolicyRef{Name: f.Name, Origin: f.Path, Digest: digest(n)}
	return doc, nil
}

// Names returns what --policy and extends can name, sorted, each once.
func (l Library) Names() []Found {
	names := slices.Concat(Presets(), yamlNames(l.Root), yamlNames(l.User))
	for name := range laterPresets {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []Found
	for _, name := range slices.Compact(names) {
		if f, err := l.named(name); err == nil {
			out = append(out, f)
		}
	}
	return out
}

func yamlNames(dir string) []string {
	entries, _ := os.ReadDir(dir) // a directory that is not there has no policies
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok && ValidName(name) {
			out = append(out, name)
		}
	}
	return out
}

// exists reports whether path is there. Anything but a clear no is an error: a
// policy that cannot be looked at must not be skipped for a weaker one.
func exists(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// readFile reads a policy file, which must be a regular one of bounded size.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file")}
	}
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// unnamed is why a file cannot be read, for messages that have its name already.
func unnamed(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// label is how a path is shown: relative below cwd, else as it is.
func label(path, cwd string) string {
	if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
		return "./" + rel
	}
	return path
}

func cleanAbs(p string) bool { return filepath.IsAbs(p) && filepath.Clean(p) == p }
