package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// gitNode has a repository, and alice has a git identity and, as people do, more
// in her configuration than a jail may see.
func gitNode(t *testing.T) (n *Node, dir string) {
	t.Helper()
	n = NewNode(t, Options{Policy: map[string]string{"clients": clientsPolicy}})
	for _, repo := range []string{"acme/app", "acme/private-app"} {
		if _, err := n.Lab.AddRepo(t.Context(), repo); err != nil {
			t.Fatal(err)
		}
	}
	config := "[user]\n\tname = Alice Example\n\temail = alice@example.test\n[core]\n\tfsmonitor = /tmp/evil\n[credential]\n\thelper = store\n"
	if err := os.WriteFile(filepath.Join(n.Home(t, Alice), ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return n, n.Workspace(t, Alice, nil)
}

func TestGitWorksAsItDoesOutside(t *testing.T) {
	t.Parallel()
	n, dir := gitNode(t)
	for i, url := range []string{
		"https://github.com/acme/private-app.git",
		"git@github.com:acme/private-app.git",
		"ssh://git@github.com/acme/private-app.git",
		"https://git.example.test/acme/private-app.git",
		"git@git.example.test:acme/private-app.git",
	} {
		t.Run("clone "+url, func(t *testing.T) {
			to := fmt.Sprintf("clone%d", i)
			n.client(t, dir, "git", "clone", "-q", url, to).Want(t, 0)
			if b, err := os.ReadFile(filepath.Join(dir, to, "README.md")); err != nil || !strings.Contains(string(b), "private-app") {
				t.Errorf("cloned %q, %v", b, err)
			}
		})
	}
	for _, clone := range []string{"clone0", "clone3"} {
		t.Run("push over https from "+clone, func(t *testing.T) {
			n.client(t, filepath.Join(dir, clone), "sh", "-ec", "git pull -q; echo more >> more; git add more; git commit -q -m more; git push -q origin main").Want(t, 0)
		})
	}
	t.Run("commit", func(t *testing.T) {
		o := n.client(t, filepath.Join(dir, "clone1"), "sh", "-ec", `
			git pull -q
			head -c 50000000 /dev/urandom > big
			git add big
			git -c core.compression=0 commit -q -m big
			git log -1 --format='%an <%ae>'
			git config --get-all core.fsmonitor || true
			git config --get-all credential.helper || true`).Want(t, 0)
		if o.Stdout != "Alice Example <alice@example.test>\n" {
			t.Errorf("committed as %q\n%s", o.Stdout, o.Stderr)
		}
	})
	t.Run("push 50 MB", func(t *testing.T) {
		n.Lab.Forget()
		work := filepath.Join(dir, "clone1")
		n.client(t, work, "git", "-c", "pack.compression=0", "push", "-q", "origin", "main").Want(t, 0)
		seen := n.Lab.Seen()
		last := seen[len(seen)-1]
		if last.Method != "POST" || !last.Authorized || last.Body < 50_000_000 {
			t.Errorf("the push was seen as %+v", last)
		}
		n.client(t, work, "sh", "-ec", `git fetch -q && test "$(git rev-parse origin/main)" = "$(git rev-parse HEAD)"`).Want(t, 0)
	})
	t.Run("a file made inside is alice's outside", func(t *testing.T) {
		checkOwner(t, filepath.Join(dir, "clone1", "big"), Alice)
	})
}

func checkOwner(t *testing.T, path string, uid uint32) {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := fi.Sys().(*syscall.Stat_t).Uid; got != uid {
		t.Errorf("%s belongs to %d, want %d", path, got, uid)
	}
}
