package scout

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// surveyor has one desk look at a directory again and again.
type surveyor struct {
	t    testing.TB
	dir  string
	desk *desk
	view child.View
}

func newSurveyor(t testing.TB) *surveyor {
	t.Helper()
	s := &surveyor{t: t, dir: t.TempDir(), desk: newDesk(true), view: child.View{ReadOnly: []string{".bashrc", ".vscode"}}}
	t.Cleanup(func() { s.desk.notifier.close() })
	return s
}

// look is what a request finds, and whether it began anew.
func (s *surveyor) look(d *desk) (found string, anew bool) {
	s.t.Helper()
	before := d.notifier
	ms, err := readMounts()
	if err != nil {
		s.t.Fatal(err)
	}
	root, err := openPath(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	defer root.Close()
	_, id, err := stat(root)
	if err != nil {
		s.t.Fatal(err)
	}
	g := &grant{file: root, path: s.dir, id: id, dir: true, write: true}
	asked := &session{req: &child.OpenRequest{View: s.view}, mounts: ms, grants: []*grant{g}, granted: map[string]bool{s.dir: true}, desk: d}
	asked.readPatterns()
	fs, err := asked.findAll()
	if err != nil {
		s.t.Fatal(err)
	}
	f := fs[0]
	slices.Sort(f.doors)
	for i := range f.git { // what is not there is protected by nobody
		slices.Sort(f.git[i].entries)
	}
	return fmt.Sprintf("named %q files %q doors %q git %q", f.named, f.files, f.doors, f.git), before != d.notifier
}

// fresh is what a desk that knows nothing finds.
func (s *surveyor) fresh() string {
	d := newDesk(false)
	found, _ := s.look(d)
	return found
}

func (s *surveyor) path(n string) string { return filepath.Join(s.dir, n) }

func (s *surveyor) write(names ...string) {
	s.t.Helper()
	for _, n := range names {
		if err := os.MkdirAll(filepath.Dir(s.path(n)), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(s.path(n), nil, 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}

// What was changed since the last look is found without another walk, and just that.
func TestS08_AKeptSurveyFindsWhatAWalkFinds(t *testing.T) {
	rename := func(s *surveyor, from, to string) {
		if err := os.Rename(s.path(from), s.path(to)); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(s *surveyor){
		"nothing":                       func(*surveyor) {},
		"a control file":                func(s *surveyor) { s.write("a/b/.bashrc") },
		"a nested repository":           func(s *surveyor) { s.write("a/b/c/.git/HEAD", "a/b/c/.git/config", "a/b/c/.git/hooks/x") },
		"a bare one, name by name":      func(s *surveyor) { s.write("a/b/HEAD", "a/b/refs/x", "a/b/objects/x", "a/b/config") },
		"a folder above one is renamed": func(s *surveyor) { rename(s, "r", "a/r2") },
		"and back, and its place taken": func(s *surveyor) {
			rename(s, "r", "a/r2")
			s.write("r/.bashrc")
			rename(s, "a/r2", "a/b/r")
			s.write("a/b/r/late/.git/config")
		},
		"one comes from outside": func(s *surveyor) {
			out := filepath.Join(s.t.TempDir(), "x")
			if err := os.MkdirAll(out+"/deep/.git/hooks", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(out, s.path("a/in")); err != nil {
				t.Fatal(err)
			}
		},
		"two change places": func(s *surveyor) {
			if err := unix.Renameat2(unix.AT_FDCWD, s.path("r"), unix.AT_FDCWD, s.path("a"), unix.RENAME_EXCHANGE); err != nil {
				t.Fatal(err)
			}
		},
		"a file gets a second name": func(s *surveyor) {
			s.write("plain")
			if err := os.Link(s.path("plain"), s.path("a/.bashrc")); err != nil {
				t.Fatal(err)
			}
		},
		"a socket": func(s *surveyor) {
			if err := unix.Mknod(s.path("a/b/door"), unix.S_IFSOCK|0o600, 0); err != nil {
				t.Fatal(err)
			}
		},
		"a git directory becomes none that held one": func(s *surveyor) {
			s.write("r/.git/objects/deep/.git/config")
			rename(s, "r/.git", "r/x")
			s.write("bare/HEAD", "bare/refs/x", "bare/objects/deep/.git/config")
			s.look(s.desk)
			for _, n := range []string{"HEAD", "refs"} { // of which nothing is told
				if err := os.Rename(s.path("bare/"+n), filepath.Join(s.t.TempDir(), n)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a package tree becomes none":  func(s *surveyor) { rename(s, "node_modules", "modules") },
		"a git directory becomes none": func(s *surveyor) { rename(s, "r/.git", "r/git"); os.RemoveAll(s.path("r/git/refs")) },
		"all goes":                     func(s *surveyor) { os.RemoveAll(s.path("r")); os.RemoveAll(s.path("a")) },
		"a folder becomes a link": func(s *surveyor) {
			rename(s, "r", "r2")
			if err := os.Symlink("r2", s.path("r")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSurveyor(t)
			s.write("a/b/x", "a/c/y", "r/.git/HEAD", "r/.git/config", "r/.git/refs/heads/main", "r/.git/objects/pack/p", "r/src/.vscode/t", "node_modules/p/.bashrc", "node_modules/p/x")
			s.look(s.desk)
			change(s)
			got, anew := s.look(s.desk)
			if want := s.fresh(); got != want {
				t.Errorf("found\n%s, a walk\n%s", got, want)
			}
			if anew {
				t.Error("all was walked through again")
			}
			if again, _ := s.look(s.desk); again != got {
				t.Errorf("then\n%s", again)
			}
		})
	}
}

// In any doubt all is looked at.
func TestS08_InDoubtASurveyIsMadeAnew(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, s *surveyor){
		"events were lost": func(t *testing.T, s *surveyor) {
			at := s.path("sub/x")
			for i := range 40_000 { // twice as many as the queue holds
				to := s.path(fmt.Sprint("sub/", i%2))
				if err := os.Rename(at, to); err != nil {
					t.Fatal(err)
				}
				at = to
			}
			s.write("late/.git/config")
		},
		"another directory is there": func(t *testing.T, s *surveyor) {
			if err := os.Rename(s.dir, s.dir+".old"); err != nil {
				t.Fatal(err)
			}
			s.write("sub/.git/config")
		},
		"something is mounted in it": func(t *testing.T, s *surveyor) {
			if err := unix.Mount("none", s.path("sub"), "tmpfs", 0, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Unmount(s.path("sub"), unix.MNT_DETACH) })
		},
		"something is mounted over it": func(t *testing.T, s *surveyor) {
			if err := unix.Mount("none", s.dir, "tmpfs", 0, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Unmount(s.dir, unix.MNT_DETACH) })
			s.write("sub/.git/config")
		},
		"other names are looked for": func(t *testing.T, s *surveyor) { s.view.ReadOnly = []string{"x"} },
		"fewer entries are allowed":  func(t *testing.T, s *surveyor) { s.view.ScanMax = 30_000 },
		"its watch has gone": func(t *testing.T, s *surveyor) {
			if _, err := unix.InotifyRmWatch(s.desk.notifier.fd, uint32(s.desk.surveys[s.dir].top.wd)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSurveyor(t)
			s.write("sub/x", "sub/.bashrc")
			s.look(s.desk)
			change(t, s)
			got, anew := s.look(s.desk)
			if want := s.fresh(); got != want || !anew {
				t.Errorf("found\n%s, a walk\n%s; made anew: %v", got, want, anew)
			}
		})
	}
}

// Whatever is done in whatever order, nothing is missed that a walk would find.
func TestS08_AKeptSurveyKeepsUpWithAnything(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newSurveyor(t)
		outside := t.TempDir()
		names := []string{"a", "b", ".git", "objects", "refs", "HEAD", "config", "hooks", "modules", "worktrees", "node_modules", ".bashrc", "info", "commondir"}
		any := func() string {
			p := s.dir
			if r.IntN(10) == 0 {
				p = outside
			}
			for range 1 + r.IntN(4) {
				p = filepath.Join(p, names[r.IntN(len(names))])
			}
			return p
		}
		s.look(s.desk)
		for round := range 60 {
			for range 1 + r.IntN(12) {
				switch p := any(); r.IntN(8) { // what cannot be done is not done
				case 0, 1, 2:
					os.MkdirAll(p, 0o755)
				case 3, 4:
					os.WriteFile(p, nil, 0o644)
				case 5:
					os.Rename(p, any())
				case 6:
					unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, any(), unix.RENAME_EXCHANGE)
				case 7:
					os.RemoveAll(p)
				}
			}
			if got, _ := s.look(s.desk); got != s.fresh() {
				t.Fatalf("seed %d, round %d: found\n%s, a walk\n%s", seed, round, got, s.fresh())
			}
		}
	}
}

// BenchmarkSurvey looks through 100,000 files in 2,000 directories for what has to
// be protected: without a watch, with one, and when nothing has changed.
func BenchmarkSurvey(b *testing.B) {
	s := newSurveyor(b)
	for i := range 2000 {
		for j := range 50 {
			s.write(fmt.Sprintf("d%d/%d.txt", i, j))
		}
	}
	b.Run("walk", func(b *testing.B) {
		for b.Loop() {
			s.look(newDesk(false))
		}
	})
	b.Run("watched", func(b *testing.B) {
		for b.Loop() {
			d := newDesk(true)
			s.look(d)
			d.notifier.close()
		}
	})
	s.look(s.desk)
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			s.look(s.desk)
		}
	})
	b.Run("floor", func(b *testing.B) {
		buf := make([]byte, listingBuffer)
		for b.Loop() {
			for i := range 2000 {
				fd, err := openRaw(unix.AT_FDCWD, s.path(fmt.Sprint("d", i)), unix.O_RDONLY|unix.O_DIRECTORY, 0)
				if err != nil {
					b.Fatal(err)
				}
				for n := 1; n > 0; {
					n, _ = unix.Getdents(fd, buf)
				}
				unix.Close(fd)
			}
		}
	})
}
