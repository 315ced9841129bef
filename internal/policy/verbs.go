package policy

import (
	"os"
	"path/filepath"
)

// Listed is one policy as "policy ls" shows it.
type Listed struct {
	Name        string   `json:"name"`
	Origin      string   `json:"origin"` // a path, or "preset"
	Description string   `json:"description,omitempty"`
	Shadowed    []string `json:"shadowed,omitempty"` // what of the same name is not used
	Problem     string   `json:"problem,omitempty"`  // why it cannot be used
}

// ListNames returns every policy that can be named, each with what is wrong
// with it.
func ListNames(l Library) []Listed {
	var out []Listed
	for _, f := range l.Names() {
		item := Listed{Name: f.Name, Origin: f.Path, Shadowed: f.Shadowed}
		if f.Kind == Builtin {
			item.Origin = "preset"
		}
		if doc, err := l.Open(f); err != nil {
			item.Problem = err.Error()
		} else {
			item.Description = doc.Description
		}
		out = append(out, item)
	}
	return out
}

// Open decodes whatever Find found, as the reader and for reading: to show,
// check or test it. What a jail gets is decoded again by the daemon.
func (l Library) Open(f Found) (*Document, error) {
	switch f.Kind {
	case Builtin:
		return Preset(f.Name)
	case Root:
		return l.loadRoot(f)
	}
	_, doc, err := l.Flatten(f)
	if err != nil {
		return nil, err
	}
	doc.Ref.Name = f.String()
	return doc, nil
}

// Check reports every error of a policy at once, and its notes. What depends on
// an exec is checked against one in a directory below the reader's home.
func Check(l Library, f Found) (notes []string, err error) {
	doc, err := l.Open(f)
	if err != nil {
		return nil, err
	}
	rep := &report{}
	checkNetwork(doc, rep)
	var req Request
	req.User.Home, _ = os.UserHomeDir() // without one, a ~ is reported
	home := ScratchHome(req.User)
	req.Cwd = filepath.Join(home, "project")
	v := &view{doc: doc, req: req, home: home, rep: rep}
	files := v.build()
	envPlan(doc, req, home, rep)
	return append(doc.showNotes(), v.warnings(files.Grants)...), rep.err()
}

// ForExec finds the policy of an exec in cwd and flattens it. For the
// operator's policies and presets flat is nil and the name is sent. A file that
// lies in cwd or below and that the trust store does not know is refused with
// *Untrusted.
func (l Library) ForExec(arg, cwd string, trust Trust) (f Found, flat *Flat, doc *Document, err error) {
	if f, err = l.Find(arg, cwd); err != nil {
		return f, nil, nil, err
	}
	if f.Kind == Builtin || f.Kind == Root {
		doc, err = l.Open(f)
		return f, nil, doc, err
	}
	if flat, doc, err = l.Flatten(f); err != nil {
		return f, nil, nil, err
	}
	needed, err := NeedsTrust(f, cwd)
	if err == nil && needed {
		err = trust.Check(f, flat, doc, cwd)
	}
	if err != nil {
		return f, nil, nil, err
	}
	return f, flat, doc, nil
}
