package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"

	"github.com/omnijail/omnijail/internal/caches"
	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/jail"
)

// cacheReserve is what the file system of the caches must have left in bytes for a
// jail to get one. The audit journal is on it.
const cacheReserve = 1 << 30

// Bounds of one user's caches beside their size.
const (
	mostCaches    = 256
	mostDiscarded = 8
)

// cacheKeeper gives caches to jails and takes them back, and keeps them within
// their limits. What looks into one is a scout that is the user.
type cacheKeeper struct {
	m      *Manager
	store  *caches.Store
	log    *slog.Logger
	ctx    context.Context // of the work beside the jails
	cancel context.CancelFunc
	// through goes through directories: walk.
	through func(context.Context, caller.CacheOptions) (caller.CacheWalk, error)
	work    sync.WaitGroup

	mu       sync.Mutex
	number   uint64                   // of the last scout
	walking  map[string]chan struct{} // the caches that are being measured; closed then
	resting  map[string]bool          // those that somebody waits to measure
	removing map[uint32]bool          // the users whose discarded caches are being removed
}

func newCacheKeeper(m *Manager) *cacheKeeper {
	c := &cacheKeeper{m: m, store: m.cfg.Caches, log: m.cfg.Log, walking: map[string]chan struct{}{}, resting: map[string]bool{}, removing: map[uint32]bool{}}
	c.through = c.walk
	c.ctx, c.cancel = context.WithCancel(context.Background())
	uids, err := c.store.Discarded()
	if err != nil {
		c.log.Warn("caches: what was discarded stays", "err", err)
	}
	for _, uid := range uids {
		c.remove(uid)
	}
	return c
}

func (c *cacheKeeper) close() {
	c.cancel()
	c.work.Wait()
}

// group makes the cgroup of a scout that walks through a cache.
func (c *cacheKeeper) group() (*cgroup.Group, error) {
	c.mu.Lock()
	c.number++
	n := c.number
	c.mu.Unlock()
	return c.m.scoutGroup(fmt.Sprintf("cache-%d", n))
}

// cacheWant is what a jail wants of the keeper.
type cacheWant struct {
	key    caches.Key
	policy string // its name, for people
	limit  int64  // bytes of this cache
	total  int64  // bytes of all caches of the user
	note   func(text, hint string)
}

// take returns the jail's cache. There is none, with a note, where the node has no
// room for it; a limit that is kept by another jail's cache refuses the start.
func (c *cacheKeeper) take(ctx context.Context, w cacheWant) (*caches.Tree, error) {
	free, err := c.store.Free()
	if err != nil {
		return nil, err
	}
	if free < cacheReserve {
		w.note(fmt.Sprintf("no cache this time: omnijail's state directory has only %s left", jail.FormatSize(free)), "")
		return nil, nil
	}
	if c.store.Waiting(w.key.UID) > mostDiscarded {
		c.remove(w.key.UID)
		w.note("no cache this time: earlier ones are still being removed", "")
		return nil, nil
	}
	if err := c.makeRoom(w); err != nil {
		return nil, err
	}
	tree, err := c.store.Acquire(w.key, w.policy)
	if err != nil {
		return nil, err
	}
	over, err := c.over(ctx, tree, w.limit)
	if err == nil && over == 0 {
		return tree, nil
	}
	tree.Close()
	if err != nil {
		return nil, err
	}
	if err := c.discard(w.key.UID, tree.ID); errors.Is(err, caches.ErrInUse) {
		return nil, &jail.OpenError{
			Code: "cache_full", Exit: exitFailed, Fix: "when that jail has ended: omnijailctl cache rm " + tree.ID,
			Reason: fmt.Sprintf("cache %s holds %s, more than its limit of %s, and another jail uses it", tree.ID, jail.FormatSize(over), jail.FormatSize(w.limit)),
		}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	w.note(fmt.Sprintf("cache %s held %s, more than its limit of %s, and was emptied", tree.ID, jail.FormatSize(over), jail.FormatSize(w.limit)),
		"limits: {cache: …} in the policy, for more")
	return c.store.Acquire(w.key, w.policy)
}

// makeRoom discards the user's caches that were not used for the longest time
// until the others are within their bounds.
func (c *cacheKeeper) makeRoom(w cacheWant) error {
	all, err := c.store.Of(w.key.UID)
	if err != nil {
		return err
	}
	var sum int64
	for _, a := range all {
		sum += a.Size
	}
	slices.SortFunc(all, func(a, b caches.About) int { return cmp.Compare(a.Used.UnixNano(), b.Used.UnixNano()) })
	left := len(all)
	for _, a := range all {
		if sum <= w.total && left <= mostCaches {
			return nil
		}
		if a.ID == w.key.ID() || c.discard(w.key.UID, a.ID) != nil {
			continue
		}
		sum, left = sum-a.Size, left-1
	}
	if sum <= w.total && left <= mostCaches {
		return nil
	}
	return &jail.OpenError{
		Code: "cache_full", Exit: exitFailed, Fix: "omnijailctl cache ls, then omnijailctl cache rm ID; or cache: none in the policy",
		Reason: fmt.Sprintf("your %d caches hold %s, you may have %s, and jails use them", left, jail.FormatSize(sum), jail.FormatSize(w.total)),
	}
}

// discard takes a cache away and has it removed.
func (c *cacheKeeper) discard(uid uint32, id string) error {
	err := c.store.Discard(uid, id)
	if err == nil {
		c.remove(uid)
	}
	return err
}
