package daemon

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caches"
)

// ErrCacheInUse says that a jail has the cache that was to be removed.
var ErrCacheInUse = caches.ErrInUse

// caches returns what is known of the caller's caches, the one used last first.
func (v View) caches() ([]caches.About, error) {
	all, err := v.m.cfg.Caches.All()
	if err != nil {
		return nil, err
	}
	mine := slices.DeleteFunc(all, func(a caches.About) bool { return v.uid != 0 && a.Owner != v.uid })
	slices.SortFunc(mine, func(a, b caches.About) int { return b.Used.Compare(a.Used) })
	return mine, nil
}

// Caches lists the caller's caches.
func (v View) Caches() ([]api.Cache, error) {
	mine, err := v.caches()
	out := []api.Cache{}
	for _, a := range mine {
		out = append(out, v.describe(a))
	}
	return out, err
}

func (v View) describe(a caches.About) api.Cache {
	return api.Cache{
		ID: a.ID, UID: a.UID, Policy: audit.Escape(a.Policy), Workspace: audit.Escape(a.Workspace),
		Size: a.Size, Used: a.Used, InUse: v.m.cfg.Caches.InUse(a.UID, a.ID),
	}
}

func (v View) ownCache(id string) (caches.About, bool) {
	mine, err := v.caches()
	i := slices.IndexFunc(mine, func(a caches.About) bool { return a.ID == id })
	if err != nil || i < 0 {
		return caches.About{}, false
	}
	return mine[i], true
}

// Cache returns one of the caller's caches.
func (v View) Cache(id string) (api.Cache, bool) {
	a, ok := v.ownCache(id)
	if !ok {
		return api.Cache{}, false
	}
	return v.describe(a), true
}

// RemoveCache removes one of the caller's caches. It fails with fs.ErrNotExist or
// ErrCacheInUse.
func (v View) RemoveCache(id string) error {
	a, ok := v.ownCache(id)
	if !ok {
		return fs.ErrNotExist
	}
	return v.m.caches.discard(a.UID, a.ID)
}

// RemoveCaches removes those of the caller's caches that no jail has.
func (v View) RemoveCaches() (api.CachesRemoved, error) {
	out := api.CachesRemoved{Removed: []string{}, InUse: []string{}}
	mine, err := v.caches()
	if err != nil {
		return out, err
	}
	for _, a := range mine {
		switch err := v.m.caches.discard(a.UID, a.ID); {
		case errors.Is(err, caches.ErrInUse):
			out.InUse = append(out.InUse, a.ID)
		case err == nil:
			out.Removed = append(out.Removed, a.ID)
		case !errors.Is(err, fs.ErrNotExist):
			return out, err
		}
	}
	return out, nil
}
