package daemon

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caches"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/internal/stage"
)

// takeCache takes the cache that the policy gives a command, nil for none. It is
// given back when the command has ended.
func (x *execution) takeCache(ctx context.Context) (*caches.Tree, error) {
	spec, user := x.plan.Spec, x.plan.User
	if spec.Cache.Workspace == "" || spec.Bare() {
		return nil, nil
	}
	want := cacheWant{
		key: caches.Key{
			Owner: x.j.owner, UID: user.UID, GID: user.GID, Policy: spec.Cache.Policy,
			PolicyOwner: spec.Policy.OwnerUID, Workspace: spec.Cache.Workspace,
		},
		policy: spec.Policy.Name, limit: cacheLimit(spec, x.plan.MaxCache), total: x.plan.MaxCache,
		note: x.events.note,
	}
	tree, err := x.m.caches.take(ctx, want)
	if tree == nil || err != nil {
		return nil, err
	}
	stop := x.m.caches.watch(tree, want.limit, func(reason string) {
		over := &overCache{reason: reason}
		if reason == cacheOver(want.limit) {
			over.fix = "limits: {cache: " + mebibytes(2*want.limit) + "}"
		}
		x.filled.Store(over)
		x.end(reason)
	})
	x.undo.Add(func() error {
		stop()
		x.m.caches.giveBack(tree, want.limit)
		return nil
	})
	return tree, nil
}

// overCache is why a command was ended that filled its cache, and what would give it
// more, if anything.
type overCache struct{ reason, fix string }

// cacheLimit is what one cache may hold, in bytes.
func cacheLimit(spec *jail.Spec, total int64) int64 {
	limit := spec.Limits.Cache
	if limit == 0 {
		limit = jail.DefaultCache
	}
	return min(limit, total)
}

// stageCache puts the directories of the cache behind the grants. What the caller
// granted below the home by name stays as granted, without a cache in it or over
// it.
func (x *execution) stageCache(st *staging) error {
	st.grants = slices.Clone(x.opened.Reply.Grants)
	if x.cache == nil {
		return nil
	}
	home := policy.ScratchHome(x.plan.User)
	for i, name := range caches.Dirs {
		dest := path.Join(home, name)
		if slices.ContainsFunc(x.opened.Reply.Grants, func(g jail.OpenGrant) bool {
			return jail.Within(g.Path, dest) || jail.Within(dest, g.Path)
		}) {
			continue
		}
		tree, err := stage.CloneTree(x.cache.Dirs[i], true)
		if err != nil {
			return fmt.Errorf("cache %s: %w", audit.Escape(name), err)
		}
		st.files.Trees = append(st.files.Trees, tree)
		st.files.Names, st.files.Layers = append(st.files.Names, nil), append(st.files.Layers, nil)
		st.grants = append(st.grants, jail.OpenGrant{Path: dest, Dir: true, Write: true})
	}
	return nil
}
