package caller

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// walkCache walks through a directory of someone's.
func walkCache(t *testing.T, dir string, empty bool, enough int64) CacheWalk {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := newChild(t)
	w, err := WalkCache(t.Context(), CacheOptions{
		Init: c.Init, Group: c.Group, UID: someone, GID: someone, Dirs: []*os.File{f}, Empty: empty, Enough: enough,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

const plenty = 1 << 30

func TestMeasureCache(t *testing.T) {
	dir := playground(t)
	outside := mkdir(t, playground(t), "outside")
	write(t, outside, "large", 0o644, string(make([]byte, 1<<20)))
	cache := mkdir(t, dir, "cache")
	write(t, cache, "f", 0o644, string(make([]byte, 1<<20)))
	write(t, cache, "empty", 0o644, "")
	symlink(t, outside, filepath.Join(cache, "link"))
	if err := os.Link(filepath.Join(cache, "f"), filepath.Join(cache, "same")); err != nil {
		t.Fatal(err)
	}
	if w := walkCache(t, cache, false, plenty); w.More || w.Bytes != 1<<20+2*4096 {
		t.Errorf("%+v", w)
	}
	if w := walkCache(t, cache, false, 1000); !w.More || w.Bytes <= 1000 {
		t.Errorf("with a small limit: %+v", w)
	}
	t.Run("a closed directory hides nothing", func(t *testing.T) {
		closed := mkdir(t, cache, "closed")
		if err := os.Chmod(closed, 0); err != nil {
			t.Fatal(err)
		}
		if w := walkCache(t, cache, false, plenty); w.Bytes <= plenty {
			t.Errorf("%+v", w)
		}
		if st, err := os.Stat(closed); err != nil || st.Mode().Perm() != 0 {
			t.Errorf("measuring has changed its mode: %v, %v", st.Mode(), err)
		}
	})
}

// TestEmptyCacheFollowsNothing removes what a jail has left, as its user: closed
// directories, chains deeper than any path, links to what lies outside.
func TestEmptyCacheFollowsNothing(t *testing.T) {
	dir := playground(t)
	outside := mkdir(t, playground(t), "outside")
	write(t, outside, "kept", 0o600, "x")
	cache := mkdir(t, dir, "cache")
	closed := mkdir(t, mkdir(t, cache, "a"), "closed")
	write(t, closed, "f", 0, "x")
	symlink(t, outside, filepath.Join(closed, "link"))
	symlink(t, filepath.Join(outside, "kept"), filepath.Join(cache, "file"))
	deep := mkdir(t, cache, "deep")
	at, err := unix.Open(deep, unix.O_DIRECTORY, 0)
	for range 1000 {
		if err == nil {
			err = unix.Mkdirat(at, "a long enough name", 0o700)
		}
		if err == nil {
			err = unix.Fchownat(at, "a long enough name", someone, someone, 0)
		}
		if err == nil {
			next := -1
			next, err = unix.Openat(at, "a long enough name", unix.O_DIRECTORY, 0)
			unix.Close(at)
			at = next
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(at)
	if w := walkCache(t, cache, false, plenty); w.Bytes <= plenty {
		t.Errorf("a chain that is too deep counts %+v", w)
	}
	for _, d := range []string{closed, filepath.Dir(closed), cache} {
		if err := os.Chmod(d, 0); err != nil {
			t.Fatal(err)
		}
	}
	if w := walkCache(t, cache, true, 0); w.More {
		t.Errorf("%+v", w)
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if st, err := os.Stat(filepath.Join(outside, "kept")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("outside: %v, %v", st, err)
	}
}

// A cache that is not the user's is not touched: the scout has the user's rights.
func TestS28_EmptyingHasNoMoreRightsThanItsUser(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := newChild(t)
	o := CacheOptions{Init: c.Init, Group: c.Group, UID: someone, GID: someone, Dirs: []*os.File{f}, Empty: true}
	for _, uid := range []uint32{someone, 0} {
		o.UID = uid
		if w, err := WalkCache(t.Context(), o); err == nil {
			t.Errorf("as %d: %+v", uid, w)
		}
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
