package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/omnijail/omnijail/internal/caches"
	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/jail"
)

const (
	cachePoll  = time.Second      // how often a jail's use of the disk is looked at
	cacheDuty  = 20               // a walk is followed by a rest of so many times its length
	cacheRest  = 30 * time.Second // the least between two walks without a reason
	cacheSlack = 16               // the part of its limit by which a cache may be over it unseen
	startWalk  = 3 * time.Second  // the longest that a start waits for one
	mostWalks  = 90               // of one removal, each of caller.CacheTime at most
)

// walk has a scout go through directories as the user whose they are.
func (c *cacheKeeper) walk(ctx context.Context, o caller.CacheOptions) (caller.CacheWalk, error) {
	group, err := c.group()
	if err != nil {
		return caller.CacheWalk{}, err
	}
	defer c.m.removeGroup(group)
	o.Init, o.Group = c.m.cfg.Init, group
	return caller.WalkCache(ctx, o)
}

// due reports whether a cache may have outgrown its limit by more than a little
// since it was measured. It cannot have without the file system having lost as
// much.
func (c *cacheKeeper) due(a caches.About, limit int64) bool {
	free, err := c.store.Level()
	return err != nil || a.Free-free > max(limit-a.Size, limit/cacheSlack)
}

// lost reports whether the file system has lost more than a cache may hold since
// that was measured.
func (c *cacheKeeper) lost(a caches.About, limit int64) bool {
	free, err := c.store.Level()
	return err != nil || a.Free-free > limit
}

// rested reports whether a cache may be measured without a reason.
func rested(a caches.About) bool { return time.Since(a.Measured) > cacheDuty*a.Took }

// over returns the size of a cache that is over its limit, else 0. Counting ends
// there, so that it may be larger.
func (c *cacheKeeper) over(ctx context.Context, t *caches.Tree, limit int64) (int64, error) {
	a, err := t.About()
	if err != nil {
		return 0, err
	}
	size := a.Size
	if c.due(a, limit) {
		ctx, cancel := context.WithTimeout(ctx, startWalk)
		defer cancel()
		if size, err = c.measure(ctx, t, a, limit); err != nil {
			c.log.Warn("cache: not measured before a start", "cache", t.ID, "err", err)
			size = a.Size // it is looked at again while the command runs
			if a.Unknown && c.lost(a, limit) {
				size = limit + 1
			}
		}
	}
	if size > limit {
		return size, nil
	}
	return 0, nil
}

// measure finds and records the size of a cache.
func (c *cacheKeeper) measure(ctx context.Context, t *caches.Tree, a caches.About, limit int64) (int64, error) {
	c.mu.Lock()
	other := c.walking[t.ID]
	if other == nil {
		done := make(chan struct{})
		c.walking[t.ID] = done
		defer func() {
			c.mu.Lock()
			delete(c.walking, t.ID)
			c.mu.Unlock()
			close(done)
		}()
	}
	c.mu.Unlock()
	if other != nil { // for another jail, which records it
		select {
		case <-other:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		a, err := t.About()
		return a.Size, err
	}
	began := time.Now()
	w, err := c.through(ctx, caller.CacheOptions{UID: a.UID, GID: a.GID, Dirs: t.Dirs, Enough: limit})
	if err == nil && w.More && w.Bytes <= limit { // a jail can make so many entries
		err = errors.New("it has more entries than can be looked at in time")
	}
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, t.Unmeasured(time.Since(began)))
	}
	if err != nil {
		return 0, err
	}
	return w.Bytes, t.Measured(w.Bytes, time.Since(began))
}

// watch ends a jail that may not go on filling its cache. stop ends the watching.
func (c *cacheKeeper) watch(t *caches.Tree, limit int64, end func(reason string)) (stop func()) {
	ctx, cancel := context.WithCancel(c.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(cachePoll)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if reason := c.look(ctx, t, limit); reason != "" {
				end(reason)
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// look says why a jail may not go on filling its cache, or nothing.
func (c *cacheKeeper) look(ctx context.Context, t *caches.Tree, limit int64) string {
	a, err := t.About()
	free, err2 := c.store.Free()
	if err := errors.Join(err, err2); err != nil {
		c.log.Warn("cache: not watched", "cache", t.ID, "err", err)
		return ""
	}
	if a.Unknown && (c.lost(a, limit) || free < cacheReserve/2) {
		return "killed: it fills a cache of so many files that it cannot be told how much that holds"
	}
	low := free < cacheReserve/2 && rested(a)
	// What others free meanwhile hides what is written here, so it is looked at now
	// and then in any case.
	old := rested(a) && time.Since(a.Measured) > cacheRest
	if !c.due(a, limit) && !low && !old || a.Unknown && !rested(a) {
		return ""
	}
	size, err := c.measure(ctx, t, a, limit)
	switch {
	case err != nil && ctx.Err() == nil:
		c.log.Warn("cache: not measured", "cache", t.ID, "err", err)
	case size > limit:
		return cacheOver(limit)
	case low && size > a.Size:
		return "killed: it fills the cache, and omnijail's state directory has only " + jail.FormatSize(free) + " left"
	}
	return ""
}

// cacheOver is the reason that a greater limit mends.
func cacheOver(limit int64) string {
	return "killed: the cache holds more than its limit of " + jail.FormatSize(limit)
}

// giveBack takes a cache from a jail that has ended, and measures it beside, once it
// has rested from the last time.
func (c *cacheKeeper) giveBack(t *caches.Tree, limit int64) {
	t.Release()
	c.work.Go(func() {
		defer t.Close()
		a, err := c.whenRested(t, limit)
		if err == nil {
			_, err = c.measure(c.ctx, t, a, limit)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errWaitedFor) && c.ctx.Err() == nil {
			c.log.Warn("cache: not measured", "cache", t.ID, "err", err)
		}
	})
}

// errWaitedFor is why a cache need not be measured: somebody is about to.
var errWaitedFor = errors.New("another waits for it")

// whenRested waits until a cache may be measured, and returns what is known of it then.
// One waits for each cache: what it finds counts for all that came before.
func (c *cacheKeeper) whenRested(t *caches.Tree, limit int64) (caches.About, error) {
	a, err := t.About()
	if err != nil || c.due(a, limit) || rested(a) {
		return a, err
	}
	c.mu.Lock()
	waited := c.resting[t.ID]
	c.resting[t.ID] = true
	c.mu.Unlock()
	if waited {
		return a, errWaitedFor
	}
	select {
	case <-time.After(time.Until(a.Measured.Add(cacheDuty * a.Took))):
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	delete(c.resting, t.ID)
	c.mu.Unlock()
	if c.ctx.Err() != nil {
		return a, c.ctx.Err()
	}
	return t.About()
}

// remove removes the discarded caches of a user, beside everything else.
func (c *cacheKeeper) remove(uid uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.removing[uid] || c.ctx.Err() != nil {
		return
	}
	c.removing[uid] = true
	c.work.Go(func() {
		trash, err := c.store.Trash(uid)
		for _, t := range trash {
			err = errors.Join(err, c.empty(t))
			t.Close()
		}
		c.mu.Lock()
		delete(c.removing, uid)
		c.mu.Unlock()
		if err != nil && c.ctx.Err() == nil {
			c.log.Warn("caches: something of a discarded one stays until the next time", "uid", uid, "err", err)
		} else if len(trash) > 0 && c.store.Waiting(uid) > 0 {
			c.remove(uid) // discarded meanwhile
		}
	})
}

// empty has what is in a discarded cache removed by its user, then the rest.
func (c *cacheKeeper) empty(t *caches.Trash) error {
	for walks := 0; len(t.Dirs) > 0; walks++ {
		w, err := c.walk(c.ctx, caller.CacheOptions{UID: t.UID, GID: t.GID, Dirs: t.Dirs, Empty: true})
		switch {
		case err != nil:
			return err
		case walks == mostWalks:
			return os.ErrDeadlineExceeded
		case !w.More:
			return t.Remove()
		}
	}
	return t.Remove()
}
