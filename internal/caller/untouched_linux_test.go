package caller

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/omnijail/omnijail/internal/jail"
)

// TestS08_NothingOutsideTheGrantIsTouched: whatever lies in a writable tree, links
// and pointers out of it above all, a scout reads and lists nothing outside, and
// every descriptor that it gives is of something inside.
func TestS08_NothingOutsideTheGrantIsTouched(t *testing.T) {
	dir := playground(t)
	out := dir + "/out"
	for _, f := range []string{"HEAD", "objects/x", "refs/x", "config", "hooks/x", "gitdir", ".vscode/t"} {
		write(t, out, f, 0o644, "[include]\n\tpath = "+out+"/hooks/x\n")
	}
	seen := watchAll(t, out, out+"/objects", out+"/refs", out+"/hooks", out+"/.vscode")
	if _, err := os.ReadDir(out); err != nil || seen() == "" {
		t.Fatalf("a look would not be seen: %v", err)
	}
	c := newChild(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := dir + "/w"
		if err := os.RemoveAll(w); err != nil {
			rt.Fatal(err)
		}
		mkdir(t, dir, "w")
		plant(rt, t, w, out, 0)
		r := request(dir)
		r.View.Visible, r.View.Secret = []string{".git"}, []string{".env"}
		r.View.ReadOnly = []string{".vscode"}
		o, err := Open(context.Background(), Options{Child: c, Request: r})
		if err == nil {
			checkInside(rt, o, w)
			o.Close()
		}
		if touched := seen(); touched != "" {
			rt.Fatalf("touched outside: %s (%v)", touched, err)
		}
	})
}

// plant fills dir with what a command could leave there.
func plant(rt *rapid.T, t *testing.T, dir, out string, depth int) {
	name := rapid.SampledFrom([]string{".git", ".git", "HEAD", "objects", "refs", "config", "hooks", "commondir", "gitdir", "modules", "worktrees", "info", "attributes", "rebase-merge", ".vscode", ".env", "a"})
	target := rapid.SampledFrom([]string{out, out + "/hooks", out + "/config", out + "/.vscode/t", "../../out", "..", ".", "a", ".git", "/", "hooks", "../out/config"})
	for range rapid.IntRange(0, 6).Draw(rt, "entries") {
		p, to := filepath.Join(dir, name.Draw(rt, "name")), target.Draw(rt, "target")
		if _, err := os.Lstat(p); err == nil {
			continue
		}
		switch kind := rapid.IntRange(0, 4).Draw(rt, "kind"); {
		case kind == 0:
			symlink(t, to, p)
		case kind < 3 && depth < 4:
			mkdir(t, dir, filepath.Base(p))
			plant(rt, t, p, out, depth+1)
		case kind == 3:
			write(t, dir, filepath.Base(p), 0o644, "gitdir: "+to+"\n")
		default:
			write(t, dir, filepath.Base(p), 0o644, fmt.Sprintf("[include]\n\tpath = %s\n[core]\n\thooksPath = %s\n\tworktree = %s\n", to, to, to))
		}
	}
}

func checkInside(rt *rapid.T, o *Opened, w string) {
	below, err := o.Resolve(context.Background(), o.Grants, again)
	if err != nil {
		rt.Fatal(err)
	}
	defer below.Close()
	for i, g := range o.Reply.Grants {
		for n, name := range g.Names() {
			f := below.Names[i][n]
			if f == nil {
				continue
			}
			p, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
			if err != nil || p != filepath.Join(w, name.Name) {
				rt.Fatalf("%s is %s, %v", name.Name, p, err)
			}
			checkAlone(rt, g, name)
		}
	}
}

// checkAlone wants the folders above a protected name held, so that the name stays.
func checkAlone(rt *rapid.T, g jail.OpenGrant, n jail.OpenName) {
	for up := filepath.Dir(n.Name); up != "."; up = filepath.Dir(up) {
		held := false
		for _, m := range g.Names() {
			held = held || m.Name == up
		}
		if !held {
			rt.Fatalf("%s is protected and %s is not held", n.Name, up)
		}
	}
}

// watchAll returns what was opened, read or changed in the directories since the
// last call.
func watchAll(t *testing.T, dirs ...string) func() string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for _, d := range dirs {
		if _, err := unix.InotifyAddWatch(fd, d, unix.IN_ALL_EVENTS); err != nil {
			t.Fatal(err)
		}
	}
	return func() string {
		buf := make([]byte, 4096)
		n, err := unix.Read(fd, buf)
		if err == unix.EAGAIN {
			return ""
		}
		return fmt.Sprintf("%q %v", strings.Trim(string(buf[:max(n, 0)]), "\x00"), err)
	}
}
