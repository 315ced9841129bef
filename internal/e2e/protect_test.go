package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// games are ways to have other content where a protected file is: with the file
// itself, its directory and the directory above, each renamed, exchanged, removed
// and put back, and reached by other ways than its name. The script is told the
// game, the level (0 is the file) and the file.
const games = `
import ctypes, os, shutil, sys
libc = ctypes.CDLL(None, use_errno=True)
game, level, path = sys.argv[1], int(sys.argv[2]), os.path.abspath(sys.argv[3])
x, below = path, ""
for _ in range(level):
    x, last = os.path.split(x)
    below = os.path.join(last, below) if below else last

def evil(at):
    target = os.path.join(at, below) if below else at
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w") as f: f.write("pwned\n")

def rename():
    os.rename(x, x + ".old")
    evil(x)

def exchange():
    evil(x + ".new")
    if libc.syscall(316, -100, (x + ".new").encode(), -100, x.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), "exchange")

def replace():
    evil(x + ".new")
    if os.path.isdir(x):
        try:
            shutil.rmtree(x)
        except OSError:
            pass
    os.rename(x + ".new", x)

def otherwise():
    def write(p):
        fd = os.open(p, os.O_WRONLY | os.O_TRUNC)
        os.write(fd, b"pwned\n")
    def linked():
        os.link(path, x + ".link" if not level else os.path.join(os.path.dirname(x), "link"))
        write(x + ".link" if not level else os.path.join(os.path.dirname(x), "link"))
    def by_fd():
        fd = os.open(os.path.dirname(path), os.O_RDONLY)
        write("/proc/self/fd/%d/%s" % (fd, os.path.basename(path)))
    def by_root(): write("/proc/self/root" + path)
    def by_dots(): write(os.path.join(os.path.dirname(path), "..", os.path.basename(os.path.dirname(path)), os.path.basename(path)))
    def symlinked():
        os.symlink(os.path.dirname(path), os.path.join(os.path.dirname(x), "sym"))
        write(os.path.join(os.path.dirname(x), "sym", os.path.basename(path)))
    def mode():
        os.chmod(path, 0o666)
        write(path)
    for way in [linked, by_fd, by_root, by_dots, symlinked, mode]:
        try:
            way()
        except OSError as e:
            print(way.__name__, e.strerror)

try:
    globals()[game]()
except OSError as e:
    print(game, e.strerror)
`

// TestS09_RenameGames plays each game in a jail, where nothing may come of it, and
// outside, where it works.
func TestS09_RenameGames(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	for _, file := range []string{"a/b/.git/config", "a/b/.vscode/tasks.json", "a/b/.bashrc"} {
		for _, game := range []string{"rename", "exchange", "replace", "otherwise"} {
			for level := range 3 {
				t.Run(fmt.Sprintf("%s %s %d", file, game, level), func(t *testing.T) {
					play := func(dir string) []string {
						return []string{"python3", "-c", games, game, fmt.Sprint(level), filepath.Join(dir, file)}
					}
					dir := n.Workspace(t, Alice, map[string]string{file: "mine\n", "a/b/c/d": "", "a/b/.git/HEAD": "ref: x\n"})
					o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append([]string{"exec", "--write", dir, "--"}, play(dir)...)}).Want(t, 0)
					if b, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(b) != "mine\n" {
						t.Errorf("in a jail: %q, %v\n%s%s", b, err, o.Stdout, o.Stderr)
					}
					control := n.Workspace(t, Alice, map[string]string{file: "mine\n", "a/b/c/d": ""})
					n.outside(t, control, `exec "$@"`, play(control)...)
					if b, err := os.ReadFile(filepath.Join(control, file)); err != nil || string(b) != "pwned\n" {
						t.Errorf("the game does not work at all: %q, %v", b, err)
					}
				})
			}
		}
	}
}

// vectors are files that programs outside run or obey, wherever they lie.
var vectors = []string{
	".git/hooks/pre-commit", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info/attributes",
	".git/rebase-merge/git-rebase-todo", ".git/sequencer/todo", ".git/modules/lib/x/config", ".git/modules/lib/x/hooks/post-checkout",
	".git/worktrees/t/commondir", ".git/worktrees/t/gitdir", ".git/worktrees/t/config.worktree",
	"deep/er/nested/.git/config", "deep/er/nested/.git/hooks/pre-push", "docs/bare/config", "docs/bare/hooks/update",
	"node_modules/dep/.git/config", "linked/.git",
	"included/by.config", "included/again", "githooks/pre-commit",
	"home/.bashrc", "home/.profile", "home/.zshrc", "sub/.envrc", "sub/.vscode/tasks.json", "sub/.idea/workspace.xml", "sub/.mcp.json",
	"sub/.claude/settings.json", "sub/.codex/config.toml", "sub/.cursor/mcp.json", "sub/.omnijail.yaml",
	".husky/pre-commit", ".pre-commit-config.yaml", ".mise.toml", ".cargo/config.toml", ".mvn/extensions.xml", ".yarn/releases/yarn.cjs",
	"sub/.husky/pre-push", "sub/.cargo/config.toml", "Makefile", "deploy/prod/run.sh", "keys/a.pem",
}

// vectorFiles are the vectors and what makes them such.
func vectorFiles() map[string]string {
	files := map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/modules/lib/x/HEAD": "ref: x\n", ".git/worktrees/t/HEAD": "ref: x\n",
		"deep/er/nested/.git/HEAD": "ref: x\n", "docs/bare/HEAD": "ref: x\n", "docs/bare/objects/x": "", "docs/bare/refs/x": "",
		"src/free": "mine\n", "sub/free": "mine\n", ".git/free": "mine\n", "deploy/free": "mine\n",
	}
	for _, v := range vectors {
		files[v] = "mine\n"
	}
	files[".git/config"] = "[include]\n\tpath = ../included/by.config\n[core]\n\thooksPath = githooks\n"
	files["included/by.config"] = "[includeIf \"gitdir:**\"]\n\tpath = again\n"
	return files
}

// writeAll tries on each file what a command would: to append, to replace, to
// remove and make anew, and to move aside what holds it.
const writeAll = `for f in "$@"; do
	echo pwned >> "$f"; echo pwned > "$f.n" && mv -f "$f.n" "$f"
	rm -rf "$f"; echo pwned > "$f"
	d=$(dirname "$f"); [ "$d" = . ] || { mv "$d" "$d.old" && mkdir -p "$d" && echo pwned > "$f"; }
done 2>/dev/null; true`

func TestS08_WhatRunsOutsideIsNotWritten(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{
		"p": "caller: [cwd, tty, timeout, write, backend]\nprotect: [Makefile, \"deploy/**/*.sh\", \"*.pem\"]\n",
	}})
	files := vectorFiles()
	for _, backend := range []string{"linux_bwrap", alone} {
		t.Run(backend, func(t *testing.T) {
			dir := n.Workspace(t, Alice, files)
			args := []string{"exec", "--policy", "p", "--backend", backend, "--write", dir, "--", "sh", "-c", writeAll, "sh"}
			n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append(args, vectors...)}).Want(t, 0)
			for _, v := range vectors {
				if b, err := os.ReadFile(filepath.Join(dir, v)); err != nil || string(b) != files[v] {
					t.Errorf("%s holds %q, %v", v, b, err)
				}
			}
			free := []string{"src/free", "sub/free", ".git/free", "deploy/free"}
			n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append(args, free...)}).Want(t, 0)
			for _, f := range free {
				if b, err := os.ReadFile(filepath.Join(dir, f)); err != nil || string(b) != "pwned\n" {
					t.Errorf("%s, which is nobody's to protect, holds %q, %v", f, b, err)
				}
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		dir := n.Workspace(t, Alice, files)
		n.outside(t, dir, "set +e; "+writeAll, vectors...)
		for _, v := range vectors {
			if b, err := os.ReadFile(filepath.Join(dir, v)); err == nil && !strings.Contains(string(b), "pwned") {
				t.Errorf("%s withstands without a jail: %q", v, b)
			}
		}
	})
}
