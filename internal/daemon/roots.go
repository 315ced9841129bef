package daemon

import (
	"github.com/omnijail/omnijail/internal/stage"
	"github.com/omnijail/omnijail/internal/trust"
)

// readyRoots is how many roots are kept ready: each is a small file system in
// memory, and making one takes a few milliseconds.
const readyRoots = 3

// root is a jail's root with the node's part on it. It fits jails that are
// composed of the same reading of the node.
type root struct {
	*stage.Root
	node *trust.Node
}

// newRoots returns the stock of roots. They hold nothing of any caller's.
func (m *Manager) newRoots() *stock[*root] {
	return newStock(readyRoots, func() (*root, error) {
		node := m.trustNode()
		var l stage.Layout
		place(&l, node.Tree())
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
func (m *Manager) takeRoot(node *trust.Node) *stage.Root {
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
