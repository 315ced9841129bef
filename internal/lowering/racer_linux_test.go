package lowering

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/lab"
	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/internal/pty"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/internal/stage"
)

// stagings is how many jails each case of the racer opens and stages.
const stagings = 286 // times 7: 2,000

type inode struct{ dev, ino uint64 }

func inodeOf(fd int) (inode, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return inode{st.Dev, st.Ino}, err
}

// outside is every file and directory below dir, by what it is.
func outside(t testing.TB, dir string) map[inode]string {
	t.Helper()
	out := map[inode]string{}
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		out[inode{st.Dev, st.Ino}] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// errLooked ends a start when its stage has been looked at.
var errLooked = errors.New("looked")

// stageAndLook opens and stages one jail, and looks in it for what lies outside.
// A refusal is an error that wraps neither errLooked nor an escape.
func (h *house) stageAndLook(t *testing.T, pool *spawn.Pool, doc *policy.Document, cwd string, out map[inode]string, paths []string) error {
	spec, opened, err := h.open(t, doc, cwd)
	if err != nil {
		return err
	}
	defer opened.Close()
	d := stage.Descriptors{}
	for i, g := range opened.Reply.Grants {
		tree, err := stage.CloneTree(opened.Grants[i], g.Write)
		if err != nil {
			return err
		}
		defer tree.Close()
		d.Trees = append(d.Trees, tree)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	below, err := opened.Resolve(ctx, d.Trees, stage.CloneTree)
	if err != nil {
		return err
	}
	defer below.Close()
	d.Names, d.Layers = below.Names, below.Layers
	pts, err := pty.NewDevpts()
	if err != nil {
		return err
	}
	defer pts.Close()
	d.Pts = pts.Mount()
	plan, err := stage.NewPlan(h.layout(spec, opened.Reply.Grants))
	if err != nil {
		return err
	}
	_, err = pool.Start(&jail.Cmd{Exe: h.as.Init, Args: []string{"never"}}, spawn.Options{Stage: func() error {
		if err := plan.Apply(h.path("stage"), d, opened.Reply.Grants); err != nil {
			return err
		}
		return look(out, paths)
	}})
	return err
}

// escape is what no start may end with.
type escape struct{ from, to string }

func (e escape) Error() string { return fmt.Sprintf("%s is %s", e.from, e.to) }

// look opens each path in the staged root, links and all, as the jail would.
func look(out map[inode]string, paths []string) error {
	root, err := unix.Open("/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	for _, p := range paths {
		fd, err := unix.Openat2(root, p, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
		if err != nil {
			continue // not there, which is as it should be
		}
		is, err := inodeOf(fd)
		unix.Close(fd)
		if err != nil {
			return err
		}
		if there := out[is]; there != "" {
			return escape{p, there}
		}
	}
	return errLooked
}

// swap is what a jail is about and which of it is swapped.
type swap struct {
	name        string
	swapped     []string
	cwd         string
	read, write []string
}

var swaps = []swap{
	{"working directory", []string{"w/cwd"}, "w/cwd", nil, nil},
	{"working directory, writable", []string{"w/cwd"}, "w/cwd", nil, []string{"w/cwd"}},
	{"granted directory", []string{"w/dir"}, "w", nil, []string{"w/dir"}},
	{"granted file", []string{"w/one"}, "w", nil, []string{"w/one"}},
	{"below a swapped directory", []string{"w/deep"}, "w", nil, []string{"w/deep/in"}},
	{"nested in a writable one", []string{"w/dir", "w/deep", "w/one"}, "w", []string{"w/deep/in"}, []string{"w", "w/dir"}},
	{"hidden and protected names", []string{"w/.env", "w/.git"}, "w", nil, []string{"w"}},
}

// TestS26_TwoThousandStagingsUnderSwapsLeadNowhere opens and stages jails, as the
// daemon does up to the start of bwrap, while somebody swaps the names that they
// are about for links that lead outside. What is there afterwards is never what
// lies outside: not under its own name, not under any other.
func TestS26_TwoThousandStagingsUnderSwapsLeadNowhere(t *testing.T) {
	pool, err := spawn.New(2)
	if err != nil {
		t.Fatal(err)
	}
	var looked, refused atomic.Int64
	t.Run("swapped", func(t *testing.T) {
		for _, c := range swaps {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				n := c.race(t, pool)
				looked.Add(int64(n))
				refused.Add(int64(stagings - n))
			})
		}
	})
	t.Logf("%d stages were looked at, %d starts were refused", looked.Load(), refused.Load())
	if looked.Load() < 200 || refused.Load() < 200 {
		t.Error("that is no race")
	}
}

// race stages jails in a house of its own and returns how many there were to be
// looked at.
func (c swap) race(t *testing.T, pool *spawn.Pool) (looked int) {
	h := newHouse(t)
	if err := os.Mkdir(h.path("stage"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.build(t, "w/cwd/own", "w/dir/own", "w/one", "w/deep/in/own", "w/.env", "w/.git/config", "w/.git/HEAD", "home/x",
		"out/file", "out/in/x", "out/config", "out/hooks/h")
	doc, err := policy.DecodeFlat(drawn{Read: c.read, Write: c.write}.document(t, h), someone)
	if err != nil {
		t.Fatal(err)
	}
	paths, out := h.plant(t), outside(t, h.path("out"))
	var names []string
	for _, name := range c.swapped {
		names = append(names, h.path(name))
	}
	stop := lab.Race(names...)
	for range stagings {
		err := h.stageAndLook(t, pool, doc, h.path(c.cwd), out, paths)
		switch found := new(escape); {
		case errors.Is(err, errLooked):
			looked++
		case errors.As(err, found):
			t.Errorf("an escape: %v", found)
		case strings.Contains(err.Error(), "internal error"):
			t.Error(err)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if after := outside(t, h.path("out")); len(after) != len(out) {
		t.Errorf("outside there were %d things, and now %d", len(out), len(after))
	}
	return looked
}

// plant puts a link that leads outside beside each name, to be swapped with it,
// and returns every path by which something outside could be there.
func (h *house) plant(t *testing.T) (paths []string) {
	t.Helper()
	for name, to := range map[string]string{"cwd": "", "dir": "", "one": "file", "deep": "", ".env": "file", ".git": ""} {
		if err := os.Symlink(h.path(filepath.Join("out", to)), h.path("w/"+name+"~")); err != nil {
			t.Fatal(err)
		}
		for _, side := range []string{"", "~"} {
			for _, rest := range []string{"", "/file", "/in", "/in/x", "/config", "/hooks", "/hooks/h"} {
				paths = append(paths, h.path("w/"+name+side+rest))
			}
		}
	}
	return append(paths, h.path("out"), h.path("out/file"), h.path("out/in/x"))
}
