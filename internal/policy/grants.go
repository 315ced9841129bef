package policy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// What every View begins with. Each idle jail has one, and most add nothing: they
// share these, which have no room to append to.
var (
	visibleAtFirst  = slices.Clip(slices.Concat(visibleDot, readOnlyDot))
	readOnlyAtFirst = slices.Clip(slices.Concat(readOnlyDot, controlNames))
)

// view is a jail.View in the making.
type view struct {
	doc   *Document
	req   Request
	facts Facts
	home  string // the scratch home
	rep   *report
}

func (v *view) build() jail.View {
	out := jail.View{
		Cwd:       v.req.Cwd,
		Visible:   visibleAtFirst,
		Secret:    secretDot,
		ReadOnly:  readOnlyAtFirst,
		HiddenMax: cmp.Or(v.doc.HiddenMax, hiddenMax),
		Protect:   v.patterns(),
		GitConfig: slices.ContainsFunc(v.doc.Weaken, func(w Item) bool { return w.Text == string(jail.WeakGitConfig) }),
		ScanMax:   cmp.Or(v.doc.ScanMax, scanMax),
		ScanDepth: cmp.Or(v.doc.ScanDepth, scanDepth),
	}
	for _, w := range v.doc.AllowHidden {
		out.Visible = appendNew(out.Visible, w.Text)
	}
	out.Grants = v.grants()
	for _, g := range out.Grants {
		out.CwdWrite = out.CwdWrite || g.Write && jail.Within(g.Path, out.Cwd)
	}
	for i, m := range v.doc.Mask {
		p := v.path(m, index("mask_paths", i))
		v.maskable(p, m, index("mask_paths", i))
		out.Masks = append(out.Masks, jail.Mask{Path: p, Origin: m.At.String()})
	}
	v.protect(&out)
	weak := v.doc.weakenings()
	out.ControlSockets = slices.Contains(weak, jail.WeakControlSockets)
	out.HardLinks = slices.Contains(weak, jail.WeakHardlinks)
	return out
}

// maskable refuses a mask that would hide nothing of what it seems to.
func (v *view) maskable(p string, m Item, key string) {
	if own := v.system(p); own != "" {
		v.rep.errorf(m.At, key, "%s lies in %s, which every jail has from the node: nothing in it can be hidden", p, own)
	} else if strings.Contains(m.Text, "*") {
		v.rep.add(Error{Pos: m.At, Key: key, Msg: "is a path, in which * stands for itself", Fix: "name the folder, or each file"})
	}
}

// grants returns cwd and what the policy grants, each path once, parents before
// what lies in them. A write grant beats a read grant of the same path.
func (v *view) grants() []jail.Grant {
	byPath := map[string]jail.Grant{}
	add := func(p, origin string, write bool) {
		if old, ok := byPath[p]; !ok || write && !old.Write {
			byPath[p] = jail.Grant{Path: p, Write: write, Origin: origin}
		}
	}
	// Who stands in the home directory gets the jail's own empty one and no grant.
	if v.req.Cwd != v.home && v.usable(v.req.Cwd, "cwd", Pos{}, false) {
		add(v.req.Cwd, "the working directory", false)
	}
	for i, r := range v.doc.Read {
		if p, key := v.path(r, index("read_paths", i)), index("read_paths", i); v.usable(p, key, r.At, false) && v.system(p) == "" {
			add(p, r.At.String(), false)
		}
	}
	for i, w := range v.doc.Write {
		if p, key := v.path(w, index("write_paths", i)), index("write_paths", i); v.usable(p, key, w.At, true) {
			add(p, w.At.String(), true)
			if jail.Within(p, v.req.Cwd) {
				add(v.req.Cwd, w.At.String(), true)
			}
		}
	}
	for i, s := range v.doc.Sockets {
		p := v.path(s, index("unix_sockets", i))
		if _, granted := byPath[p]; !granted && v.usable(p, index("unix_sockets", i), s.At, false) {
			byPath[p] = jail.Grant{Path: p, Origin: s.At.String(), Socket: true, Missing: true}
		}
	}
	var out []jail.Grant
	for _, g := range byPath {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b jail.Grant) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// path makes a path as written absolute: ~ is the caller's real home, and what
// is still relative is relative to the working directory.
func (v *view) path(item Item, key string) string {
	p := item.Text
	if p == "~" || strings.HasPrefix(p, "~/") {
		if !filepath.IsAbs(v.req.User.Home) {
			v.rep.errorf(item.At, key, "names ~, and this user has no home directory")
			return ""
		}
		return filepath.Join(v.req.User.Home, p[1:])
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(v.req.Cwd, p)
	}
	return filepath.Clean(p)
}

// system returns the tree of the node that the jail has the path from already,
// empty if none.
func (v *view) system(p string) string {
	for _, s := range v.facts.System {
		if jail.Within(s.Path, p) {
			return s.Path
		}
	}
	return ""
}

// usable refuses a destination that would hide or replace what a jail is made
// of. Symbolic links are resolved later, by the scout, which asks again.
func (v *view) usable(p, key string, at Pos, write bool) bool {
	if p == "" {
		return false // reported where it was made
	}
	err := jail.CheckDest(p, v.home, systemPaths(v.facts.System))
	if own := v.system(p); err == nil && own != "" && write {
		err = fmt.Errorf("%s lies in %s, which a jail has from the node, read-only", p, own)
	}
	for _, own := range slices.Concat(v.facts.Reserved, v.protected()) {
		if err == nil && jail.Within(own, p) {
			err = fmt.Errorf("%s is omnijail's own, which no jail may have", p)
		}
	}
	if err == nil {
		return true
	}
	e := Error{Pos: at, Key: key, Code: "destination", Msg: err.Error()}
	if key == "cwd" {
		e.Fix = "go to a project's directory first"
	}
	v.rep.add(e)
	return false
}

func systemPaths(dirs []SystemDir) []string {
	var out []string
	for _, d := range dirs {
		out = append(out, d.Path)
	}
	return out
}

// protected are the user's own omnijail directories: what is in them decides
// over later jails.
func (v *view) protected() []string {
	home := v.req.User.Home
	if !filepath.IsAbs(home) {
		return nil
	}
	return []string{filepath.Join(home, ".config/omnijail"), filepath.Dir(TrustPath(home))}
}

// protect pins what decided this jail, and hides the user's omnijail directories.
// Whether a grant shows them is for the scout to find, which knows links.
func (v *view) protect(out *jail.View) {
	for _, f := range v.doc.Files {
		out.Pins = append(out.Pins, jail.Pin{Path: f, Origin: "the policy in force"})
	}
	for _, p := range v.protected() {
		out.Masks = append(out.Masks, jail.Mask{Path: p, Origin: "omnijail's own", Own: true})
	}
}
