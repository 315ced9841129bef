package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
)

// Sweep kills and removes what a daemon called id left behind, wherever it may
// have made its subtree. Only the holder of that daemon's lock may call it. It
// touches no other daemon's subtree, and refuses when this process is in the one
// to be swept. Nothing to sweep is no error.
func (h *Hierarchy) Sweep(ctx context.Context, id string) error {
	if err := checkName(id); err != nil {
		return err
	}
	var errs []error
	for _, parent := range []string{h.main.root, h.parent()} {
		errs = append(errs, h.main.sweep(ctx, path.Join(parent, prefix+id)))
	}
	for _, t := range h.extra {
		// The processes died with the main hierarchy's.
		errs = append(errs, removeTree(t.dir(path.Join(t.root, prefix+id)), maxDepth))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sweep cgroups of %s: %w", id, err)
	}
	return nil
}

func (t *tree) sweep(ctx context.Context, p string) error {
	if _, err := os.Stat(t.dir(p)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if below(t.self, p) {
		return fmt.Errorf("this process is in %s itself", p)
	}
	if err := t.kill(p); err != nil {
		return err
	}
	if err := t.waitEmpty(ctx, p); err != nil {
		return err
	}
	return removeTree(t.dir(p), maxDepth)
}
