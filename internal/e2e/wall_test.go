package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/omnijail/omnijail/internal/landlock"
)

// TestTheWallBehindTheMounts: what mounts and modes would let through is refused
// by Landlock, and what tools do all the time is not.
func TestTheWallBehindTheMounts(t *testing.T) {
	t.Parallel()
	if !landlock.Holds(landlock.ABI()) {
		t.Skip("this kernel has no Landlock that jails use")
	}
	n := NewNode(t, Options{
		NoLab:  true,
		Config: map[string]any{"access": []any{map[string]any{"groups": []string{strconv.Itoa(socketGID)}, "policies": []string{"own", "*"}, "weaken": []string{"nested_sandbox"}}}},
		Policy: map[string]string{"nested": "backend: linux_bwrap\nweaken: [nested_sandbox]\n"},
	})
	t.Run("refused", func(t *testing.T) {
		dir := n.Workspace(t, Alice, nil)
		// Everyone may make this node: overlay file systems need it.
		const whiteout = `mknod /tmp/w c 0 0 2>&1; mknod here c 0 0 2>&1; true`
		if got := n.sh(t, dir, whiteout); got != "mknod: /tmp/w: Permission denied\nmknod: here: Permission denied\n" {
			t.Errorf("device nodes in a jail: %q", got)
		}
	})
	t.Run("a nested sandbox mounts, so its files have no wall", func(t *testing.T) {
		n.Exec(t, "--policy", "nested", "--", "mknod", "/tmp/w", "c", "0", "0").Want(t, 0)
	})
	t.Run("moves and links", func(t *testing.T) {
		dir := n.Workspace(t, Alice, map[string]string{"a/b/one": "1", "c/two": "2", ".git/keep": ""})
		n.sh(t, dir, `set -e
			mv a/b/one c/one                     # git mv
			mkdir .staging && echo x > .staging/package.json && mkdir -p node_modules/.bin
			mv .staging node_modules/package     # npm install
			ln -s ../package/cli node_modules/.bin/cli
			mkdir -p target/deps && echo lib > target/deps/lib-1 && ln target/deps/lib-1 target/lib
			mv -f target/lib target/deps/lib-2   # cargo build
			mv --exchange c/one c/two 2>/dev/null || true
			: > c/two && truncate -s 10 c/two && mkfifo fifo && rm -r a`)
		if b, err := os.ReadFile(filepath.Join(dir, "node_modules/package/package.json")); err != nil || string(b) != "x\n" {
			t.Errorf("%q, %v", b, err)
		}
	})
	t.Run("git", func(t *testing.T) {
		dir := n.Workspace(t, Alice, nil)
		n.sh(t, dir, `set -e
			git init -q repo && cd repo && git config user.email a@b && git config user.name a
			mkdir -p old new && echo 1 > old/f && git add . && git commit -qm 1
			git mv old/f new/g && git commit -qm 2 && git checkout -q HEAD~1 && git checkout -q -
			git gc -q && git worktree add -q ../tree && git stash list && test -f ../tree/new/g`)
	})
	t.Run("what a process has of its own", func(t *testing.T) {
		dir := n.Workspace(t, Alice, nil)
		n.sh(t, dir, `set -e
			echo 300 > /proc/self/oom_score_adj && (echo 301 > /proc/self/oom_score_adj)
			echo x > /dev/null && echo x > /dev/stderr && head -c1 /dev/urandom > /dev/shm/r
			ls / /proc/self/fd /dev /tmp "$HOME" > /dev/null
			mkdir "$HOME/bin" && cp /bin/true "$HOME/bin/t" && "$HOME/bin/t"
			cp /bin/true /tmp/t && /tmp/t && cp /bin/true ./t && ./t`)
	})
	t.Run("sockets between processes of a jail", func(t *testing.T) {
		dir := n.Workspace(t, Alice, nil)
		names := `["/tmp/s", "./s", "\0abstract"]`
		if noUnixSockets() {
			names = "[]" // signals alone
		}
		n.sh(t, dir, `exec python3 -c '
import os, signal, socket
for name in `+names+`:
    server = socket.socket(socket.AF_UNIX); server.bind(name); server.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(name); server.accept()
child = os.fork()
if child == 0:
    signal.pause()
os.kill(child, signal.SIGTERM); os.waitpid(child, 0)'`)
	})
}
