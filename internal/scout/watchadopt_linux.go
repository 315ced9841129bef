package scout

// adopt puts what a survey knows of r under watch: the kernel watches it already.
// Plain directories without a name that matters are taken as they are; all others
// are looked at.
func (w *watcher) adopt(r *root, s *survey) error { return w.adoptDir(r, s.top, nil) }

func (w *watcher) adoptDir(r *root, p *surveyed, parent *node) error {
	kind, inGit, rel := plainKind, false, ""
	if parent != nil {
		if rel = parent.below(p.name); r.kept[rel] && !r.open[rel] {
			return nil
		}
		kind, inGit = childKind(parent.kind, parent.inGit, p.name), parent.inGit || isGit(p.name)
	}
	if kind == quietKind {
		return nil
	}
	if kind != plainKind || inGit || p.special || p.stale || r.designate[rel] != plainKind {
		if err := w.look(visit{root: r, parent: parent, name: p.name, initial: true, known: p}); err != nil {
			return err
		}
	} else {
		w.nodes[p.wd] = &node{wd: p.wd, root: r, parent: parent, name: p.name, visited: true}
	}
	n := w.nodes[p.wd]
	if n == nil {
		return nil // it has gone
	}
	for _, below := range p.below {
		if err := w.adoptDir(r, below, n); err != nil {
			return err
		}
	}
	return nil
}
