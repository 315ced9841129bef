package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/caches"
	"github.com/omnijail/omnijail/internal/caller"
)

// A jail that makes so many files that nobody can look at all of them in time does
// not get a cache of any size by that: not while it runs, and not the next time.
func TestS28_ACacheThatCannotBeMeasuredIsBounded(t *testing.T) {
	const limit = 1 << 20
	for name, walk := range map[string]func() (caller.CacheWalk, error){
		"a walk that comes to no end": func() (caller.CacheWalk, error) { return caller.CacheWalk{Bytes: 5, More: true}, nil },
		"a walk that fails":           func() (caller.CacheWalk, error) { return caller.CacheWalk{}, errors.New("out of memory") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			store, err := caches.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			c := &cacheKeeper{store: store, log: slog.New(slog.DiscardHandler), walking: map[string]chan struct{}{}, resting: map[string]bool{}}
			c.through = func(context.Context, caller.CacheOptions) (caller.CacheWalk, error) { return walk() }
			tree, err := store.Acquire(caches.Key{UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}, "")
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			fill(t, dir, tree)
			if reason := c.look(t.Context(), tree, limit); reason != "" {
				t.Errorf("ended before it was looked at: %s", reason)
			}
			if reason := c.look(t.Context(), tree, limit); !strings.Contains(reason, "cannot be told") {
				t.Errorf("it goes on: %q", reason)
			}
			if over, err := c.over(t.Context(), tree, limit); err != nil || over <= limit {
				t.Errorf("the next command has it as it is: %d, %v", over, err)
			}
		})
	}
}

// fill makes a tree look as if its file system had lost much since it was measured.
func fill(t *testing.T, dir string, tree *caches.Tree) {
	t.Helper()
	a, err := tree.About()
	if err != nil {
		t.Fatal(err)
	}
	a.Free += 1 << 40
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", tree.ID, "about.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	if err := os.WriteFile(found[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
}
