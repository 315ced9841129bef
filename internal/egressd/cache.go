package egressd

import (
	"sync"
	"time"

	"github.com/omnijail/omnijail/creds"
)

// A value of a command is kept for keepFor, so that ten commands in a row do not
// run `gh auth token` ten times.
const (
	keepFor = 60 * time.Second
	maxKept = 256
)

// cache keeps values by the daemon's keys. Keys are opaque: the daemon makes them
// from uid, policy and source, so that no two of these can share a value.
type cache struct {
	mu   sync.Mutex
	kept map[string]*kept
}

type kept struct {
	secret creds.Secret
	timer  *time.Timer
}

func newCache() *cache { return &cache{kept: map[string]*kept{}} }

func (c *cache) get(key string) (creds.Secret, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.kept[key]
	if !ok {
		return creds.Secret{}, false
	}
	return k.secret, true
}

// put keeps s under key; an empty key keeps nothing.
func (c *cache) put(key string, s creds.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.kept[key]; ok {
		old.timer.Stop()
		delete(c.kept, key)
	}
	if key == "" || len(c.kept) >= maxKept {
		return
	}
	k := &kept{secret: s}
	k.timer = time.AfterFunc(keepFor, func() { c.drop(key, k) })
	c.kept[key] = k
}

func (c *cache) drop(key string, k *kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[key] == k {
		delete(c.kept, key)
	}
}
