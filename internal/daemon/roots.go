package daemon

import (
	"slices"

	"github.com/omnijail/omnijail/internal/stage"
	"github.com/omnijail/omnijail/internal/trust"
)

// readyRoots is how many roots are kept ready: each is a small file system in
// memory, and making one takes a few milliseconds.
const readyRoots = 3

// etc is the node's part of every jail's /etc, with the directory that all share.
type etc struct {
	*trust.Node
	shared trust.Bind
}

// readEtc reads it anew; what is shared lies below dir.
func readEtc(dir string) (*etc, error) {
	n, err := trust.Snapshot()
	if err != nil {
		return nil, err
	}
	shared, err := n.Share(dir)
	return &etc{n, shared}, err
}

// tree is what is composed in every jail, with what is shared.
func (e *etc) tree() trust.Tree { return e.with(e.Node.Tree()) }

// compose returns the same with what one jail adds.
func (e *etc) compose(in trust.Input) (trust.Tree, error) {
	t, err := e.Node.Compose(in)
	return e.with(t), err
}

func (e *etc) with(t trust.Tree) trust.Tree {
	t.Binds = append(slices.Clip(t.Binds), e.shared)
	return t
}

// root is a jail's root with the node's part on it. It fits jails that are
// composed of the same reading of the node.
type root struct {
	*stage.Root
	node *etc
}

// newRoots returns the stock of roots. They hold nothing of any caller's.
func (m *Manager) newRoots() *stock[*root] {
	return newStock(readyRoots, func() (*root, error) {
		node := m.trustNode()
		var l stage.Layout
		place(&l, node.tree())
		r, err := stage.Prepare(l)
		if err != nil {
			m.cfg.Log.Warn("no root kept ready", "err", err)
			return nil, err
		}
		return &root{r, node}, nil
	})
}

// takeRoot returns a root with node's part on it, nil when none is ready: the
// start then makes its own. Whoever takes it closes it.
func (m *Manager) takeRoot(node *etc) *stage.Root {
	if r, ok := m.prepared.take(func(r *root) bool { return r.node == node }); ok {
		return r.Root
	}
	return nil
}

// place puts a composed tree into a layout.
func place(l *stage.Layout, t trust.Tree) {
	for _, f := range t.Files {
		l.Files = append(l.Files, stage.File(f))
	}
	for _, f := range t.Links {
		l.Links = append(l.Links, stage.Link(f))
	}
	for _, f := range t.Binds {
		l.Binds = append(l.Binds, stage.Bind(f))
	}
	for _, f := range t.Covers {
		l.Covers = append(l.Covers, stage.Cover(f))
	}
}
