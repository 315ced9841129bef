package caches

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func newStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// key is of the user that runs the test, who may make directories of his own only.
func key(workspace string) Key {
	return Key{Owner: 7, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Policy: "d1", Workspace: workspace}
}

func acquire(t *testing.T, s *Store, k Key) *Tree {
	t.Helper()
	tree, err := s.Acquire(k, "name")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

func TestEveryPartOfAKeyMakesAnotherTree(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range []Key{
		{}, {Owner: 1}, {UID: 1}, {PolicyOwner: 1}, {Policy: "1"}, {Workspace: "1"},
		{Policy: "1 2", Workspace: "3"}, {Policy: "1", Workspace: "2 3"}, {Policy: `"`}, {Workspace: `"`},
	} {
		if id := k.ID(); seen[id] || !ValidID(id) {
			t.Errorf("%+v: %s", k, id)
		} else {
			seen[id] = true
		}
	}
}

func TestATreeInUseStays(t *testing.T) {
	s, k := newStore(t), key("/w")
	one, two := acquire(t, s, k), acquire(t, s, k)
	for i, d := range one.Dirs {
		a, err := d.Stat()
		b, err2 := two.Dirs[i].Stat()
		if err != nil || err2 != nil || !os.SameFile(a, b) {
			t.Errorf("%s is not shared", Dirs[i])
		}
	}
	for _, tree := range []*Tree{one, two} {
		if err := s.Discard(k.UID, k.ID()); !errors.Is(err, ErrInUse) || !s.InUse(k.UID, k.ID()) {
			t.Fatalf("%v", err)
		}
		tree.Release()
	}
	if err := s.Discard(k.UID, k.ID()); err != nil {
		t.Fatal(err)
	}
	if err := s.Discard(k.UID, k.ID()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a second time: %v", err)
	}
	three := acquire(t, s, k)
	if err := one.Measured(99, time.Second); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the size of a tree that is gone: %v", err)
	}
	if a, err := three.About(); err != nil || a.Size != 0 || a.Owner != 7 || a.Workspace != "/w" || a.Policy != "name" {
		t.Errorf("%+v, %v", a, err)
	}
}

// Taking and discarding at the same time never gives a tree that is discarded.
func TestAcquireAndDiscardAtTheSameTime(t *testing.T) {
	s, k := newStore(t), key("/w")
	var users, remover sync.WaitGroup
	stop := make(chan struct{})
	remover.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Discard(k.UID, k.ID()); err != nil && !errors.Is(err, ErrInUse) && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			trash, err := s.Trash(k.UID)
			for _, x := range trash {
				err = errors.Join(err, x.Remove())
				x.Close()
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	for range 4 {
		users.Go(func() {
			for range 100 {
				tree, err := s.Acquire(k, "")
				if err != nil {
					t.Error(err)
					return
				}
				if err := tree.there(); err != nil {
					t.Errorf("a tree in use is not in its place: %v", err)
				}
				tree.Close()
			}
		})
	}
	users.Wait()
	close(stop)
	remover.Wait()
}

// Remove goes no deeper than what is root's own.
func TestS28_RemoveDoesNotGoIntoWhatAUserFilled(t *testing.T) {
	s, k := newStore(t), key("/w")
	tree := acquire(t, s, k)
	filled := filepath.Join(tree.path, "d", ".cache", "f")
	if err := os.WriteFile(filled, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tree.Release()
	if err := s.Discard(k.UID, k.ID()); err != nil {
		t.Fatal(err)
	}
	trash, err := s.Trash(k.UID)
	if err != nil || len(trash) != 1 || len(trash[0].Dirs) != len(Dirs) {
		t.Fatalf("%v, %v", trash, err)
	}
	defer trash[0].Close()
	if err := trash[0].Remove(); err == nil || s.Waiting(k.UID) != 1 {
		t.Errorf("a tree with something in it: %v, %d wait", err, s.Waiting(k.UID))
	}
	if err := os.Remove(filepath.Join(trash[0].path, "d", ".cache", "f")); err != nil {
		t.Fatal(err)
	}
	if err := trash[0].Remove(); err != nil || s.Waiting(k.UID) != 0 {
		t.Errorf("emptied: %v, %d wait", err, s.Waiting(k.UID))
	}
}

// A tree whose making was cut short at any moment goes with the others, and keeps
// none of them.
func TestS28_ATreeThatWasHalfMadeIsRemoved(t *testing.T) {
	s := newStore(t)
	const uid = 123456 // to whom nothing was given yet
	trash := filepath.Join(s.of(uid), trashName)
	for _, half := range []string{"a", "b/d", "c/d/.cache", "d/d/go+pkg"} {
		if err := os.MkdirAll(filepath.Join(trash, half), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	found, err := s.Trash(uid)
	if err != nil || len(found) != 4 {
		t.Errorf("%d found, %v", len(found), err)
	}
	for _, half := range found {
		if err := half.Remove(); err != nil || len(half.Dirs) != 0 {
			t.Errorf("%s: %v", half.path, err)
		}
	}
	if n := s.Waiting(uid); n != 0 {
		t.Errorf("%d are left", n)
	}
}

func TestNamesThatAreNoID(t *testing.T) {
	s := newStore(t)
	for _, id := range []string{"", ".", "..", trashName, "../0", "0123456789abcdef0123456/", "0123456789ABCDEF01234567"} {
		if err := s.Discard(0, id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("discard %q: %v", id, err)
		}
	}
}
