package cgroup

import "fmt"

// Freeze stops every process in the group and below it, and returns once they
// stand still or frozenWithin has passed. A group that is frozen can be killed.
func (g *Group) Freeze() error {
	if err := g.tree.freeze(g.tree.dir(g.path)); err != nil {
		return fmt.Errorf("freeze cgroup: %w", err)
	}
	return nil
}

// Thaw lets the group go on. It is for whoever froze it and nobody else: a group
// whose protection is gone is killed frozen.
func (g *Group) Thaw() error {
	if err := g.tree.thaw(g.tree.dir(g.path)); err != nil {
		return fmt.Errorf("thaw cgroup: %w", err)
	}
	return nil
}
