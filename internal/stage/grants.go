package stage

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// name is one name of a grant with what is to be done about it.
type name struct {
	jail.OpenName
	op Op
}

// names returns the names of g in the order in which their descriptors come.
func names(g jail.OpenGrant) []name {
	var out []name
	for i, n := range g.Names() {
		op := OpHide
		switch {
		case i < len(g.Held):
			op = OpHold
		case i < len(g.Held)+len(g.ReadOnly):
			op = OpPin
		}
		out = append(out, name{n, op})
	}
	return out
}

// grants attaches every tree, the outer before the inner, and protects its names,
// the shallow before the deep: what lies below a layer is found in the layer's own
// mount, which has to be there. So every name is one mount, however deep it lies.
func (p *planner) grants() error {
	order, err := p.order()
	if err != nil {
		return err
	}
	around := make([]int, len(order))
	for at, i := range order {
		outer := p.around(i, order[:at])
		if around[i] = outer; outer < 0 {
			continue
		}
		// What covers a name has places for what is shown below it: that has to be
		// known before the name is covered.
		framed, err := p.frame(i, outer)
		if err != nil {
			return err
		}
		if !framed {
			p.nested[outer] = append(p.nested[outer], i)
		}
	}
	for _, i := range order {
		if err := p.attach(i, around[i]); err != nil {
			return err
		}
		if err := p.protect(i); err != nil {
			return err
		}
	}
	return nil
}

// order sorts the grants by path, so that a grant comes after all that enclose it.
func (p *planner) order() ([]int, error) {
	gs := p.layout.Grants
	order := make([]int, len(gs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(gs[a].Path, gs[b].Path) })
	for at := 1; at < len(order); at++ {
		if gs[order[at]].Path == gs[order[at-1]].Path {
			return nil, fmt.Errorf("%s is granted twice", gs[order[at]].Path)
		}
	}
	return order, nil
}

// around returns the innermost of the grants before that grant i lies in, -1 for
// none.
func (p *planner) around(i int, before []int) int {
	for _, outer := range slices.Backward(before) {
		if jail.Within(p.layout.Grants[outer].Path, p.layout.Grants[i].Path) {
			return outer
		}
	}
	return -1
}

func (p *planner) attach(i, outer int) error {
	g := p.layout.Grants[i]
	var system []string
	for _, s := range p.layout.System {
		system = append(system, s.Path)
	}
	if err := jail.CheckDest(g.Path, p.layout.Home, system); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	switch {
	case p.depth(i) > 0:
		return nil // attached with its frame
	case outer >= 0:
		return p.nest(i, outer)
	}
	for _, s := range p.layout.System {
		if s.Link == "" && jail.Within(s.Path, g.Path) {
			p.add(Step{Op: OpGrant, Path: g.Path, Grant: i, Dir: g.Dir}) // the place exists
			return nil
		}
		if s.Link != "" && jail.Within(s.Path, g.Path) {
			return fmt.Errorf("%s cannot be granted: %s is a link on this node", g.Path, s.Path)
		}
	}
	if g.Dir {
		p.dir(g.Path)
	} else {
		p.dir(path.Dir(g.Path))
		p.add(p.owned(Step{Op: OpFile, Path: g.Path, Mode: 0o644}))
	}
	p.add(Step{Op: OpGrant, Path: g.Path, Grant: i, Dir: g.Dir})
	return nil
}

// nest mounts grant i on the name that the scout held for it in the grant
// around it: the place lies in a tree that a user can write, so only the scout
// may have looked it up.
func (p *planner) nest(i, outer int) error {
	g, around := p.layout.Grants[i], p.layout.Grants[outer]
	rel := strings.TrimPrefix(g.Path, around.Path+"/")
	for n, name := range names(around) {
		if name.op != OpHide && name.Name == rel && name.Dir == g.Dir && !name.Link {
			p.add(Step{Op: OpNest, Path: g.Path, Grant: i, Outer: outer, Name: n, Dir: g.Dir})
			return nil
		}
	}
	return fmt.Errorf("%s lies inside the grant %s, and the scout held no place for it", g.Path, around.Path)
}

// protect plans what is done about the names of grant i. What lies below an
// inner grant is the inner one's to protect.
func (p *planner) protect(i int) error {
	g := p.layout.Grants[i]
	list := names(g)
	order := make([]int, 0, len(list))
	for n, name := range list {
		if !g.Dir || !below(name.Name) {
			return fmt.Errorf("%q is not a name below %s", name.Name, g.Path)
		}
		covered, err := p.covered(i, name)
		if err != nil {
			return err
		}
		if !covered && !underMask(list, name.Name) {
			order = append(order, n)
		}
	}
	depth := func(n int) int { return strings.Count(list[n].Name, "/") }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(depth(a), depth(b)) })
	for _, n := range order {
		step := Step{Op: list[n].op, Path: path.Join(g.Path, list[n].Name), Grant: i, Name: n, Dir: list[n].Dir}
		if inner := p.framed[framing{i, n}]; inner != nil {
			step.Op, step.Inner = OpFrame, inner
		}
		p.add(step)
	}
	return nil
}

// below reports whether name is relative, clean, and neither "." nor leads up.
func below(name string) bool {
	return name != "." && !path.IsAbs(name) && path.Clean(name) == name && name != ".." && !strings.HasPrefix(name, "../")
}

// covered reports whether the tree of an inner grant lies over n, a name of
// grant i. It fails when the inner grant does not protect the same thing: the
// jail would see it unprotected.
func (p *planner) covered(i int, n name) (bool, error) {
	full := path.Join(p.layout.Grants[i].Path, n.Name)
	for _, in := range p.nested[i] {
		inner := p.layout.Grants[in]
		if full == inner.Path {
			return true, nil // the place it is mounted on
		}
		if !jail.Within(inner.Path, full) {
			continue
		}
		same := slices.ContainsFunc(names(inner), func(o name) bool {
			return o.op != OpHold && jail.Within(path.Join(inner.Path, o.Name), full)
		})
		if n.op == OpPin && !p.writable(full) {
			same = true // nothing there can be written
		}
		if n.op != OpHold && !same {
			return false, fmt.Errorf("%s is protected in the grant %s and not in the grant %s inside it", full, p.layout.Grants[i].Path, inner.Path)
		}
		return true, nil
	}
	return false, nil
}

// writable reports whether the innermost grant around path is for writing.
func (p *planner) writable(path string) bool {
	inner, write := "", false
	for _, g := range p.layout.Grants {
		if jail.Within(g.Path, path) && len(g.Path) >= len(inner) {
			inner, write = g.Path, g.Write
		}
	}
	return write
}
