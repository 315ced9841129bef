package scout

import (
	"github.com/omnijail/omnijail/internal/child"
)

// expose grants the root of the toolchain that p lies in, read-only, unless the
// jail shows p already. Where p lies in none it says what makes it visible.
func (s *session) expose(p, program string) error {
	refused := s.visible(p)
	if refused == nil {
		return nil
	}
	root, t, found := s.toolchainOf(p)
	if !found {
		return refused
	}
	if err := s.exposeRoot(root); err != nil {
		return err
	}
	beside := t.beside(s.req.User.Home, program)
	if beside == "" {
		return nil
	}
	if at, ok := s.installedAt(beside); ok {
		return s.exposeRoot(at)
	}
	return nil
}

// installedAt returns the canonical path of a toolchain's place; ok is false when
// there is none for this caller, or when a command could have laid the way to it.
func (s *session) installedAt(p string) (at string, ok bool) {
	places, err := trail(p)
	if err != nil {
		return "", false
	}
	trees, err := s.writableTrees()
	if err != nil {
		return "", false
	}
	for _, place := range places {
		if _, inside, err := s.mounts.inside(trees, place.path); err != nil || inside {
			return "", false
		}
	}
	return places[len(places)-1].path, true
}

// toolchainOf returns the toolchain that p lies in, and the root it needs.
func (s *session) toolchainOf(p string) (root string, t toolchain, found bool) {
	for _, t := range toolchains {
		at, ok := s.installedAt(t.under(s.req.User.Home))
		if !ok {
			continue
		}
		if root, ok := t.root(at, p); ok {
			return root, t, true
		}
	}
	return "", toolchain{}, false
}

// canonical returns the canonical path of p, which exists.
func canonical(p string) (string, error) {
	f, err := openPath(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return realPath(f)
}

// exposeRoot adds a read-only grant that no policy named. It holds above a mask,
// save in a tree that the jail may write and save omnijail's own.
func (s *session) exposeRoot(root string) error {
	if s.visible(root) == nil {
		return nil
	}
	trees, err := s.writableTrees()
	if err != nil {
		return err
	}
	t, inside, err := s.mounts.inside(trees, root)
	if err != nil {
		return err
	}
	if inside {
		return refuse("not_visible", "%s is hidden in the jail and lies in %s, which the command may write", root, t.path)
	}
	for _, m := range s.req.View.Masks {
		if m.Own && (child.Within(root, m.Path) || child.Within(m.Path, root)) {
			return refuse("mask", "%s is or contains %s, omnijail's own, which no jail may have", root, m.Path)
		}
	}
	g, err := s.openGrant(child.Grant{Path: root, Origin: "the command needs it"})
	if err != nil {
		return err
	}
	if g.path != root {
		g.file.Close()
		return refuse("not_visible", "%s changed while it was opened", root)
	}
	s.addGrant(g)
	s.exposed = append(s.exposed, root)
	return s.settle(g)
}

// settle places an exposed grant among the others and hides in it what the policy
// hides by name.
func (s *session) settle(g *grant) error {
	s.sortGrants()
	for _, around := range s.grants {
		if n, ok := below(around.path, g.path); ok {
			around.masked.drop(n)
		}
	}
	if err := s.nestGrants(); err != nil {
		return err
	}
	for _, m := range s.req.View.Masks {
		at, err := canonical(m.Path)
		if err != nil {
			continue // there is nothing to hide: applyMasks has judged what cannot be opened
		}
		n, inside := below(g.path, at)
		if !inside || n == "" {
			continue
		}
		st, err := lstat(g.file, n)
		if err != nil {
			return err
		}
		s.mask(g, name{name: n, dir: isDir(st)}, st)
	}
	return nil
}
