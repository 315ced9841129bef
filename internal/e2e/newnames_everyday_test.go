package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What people do with git all day is not taken for an attack.
func TestS08_EverydayGitIsLeftAlone(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.repository(t)
	o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", ".", "--", "sh", "-exc", `export GIT_EDITOR=true
		echo 2 >> file; git commit -qam three; git switch -q -c topic HEAD~1; echo t > t; git add t; git commit -qm t
		git rebase -q main; git rebase -q -i --keep-empty HEAD~2; echo s >> file; git stash -q; git stash pop -q; git checkout -q file
		git worktree add -q wt HEAD~1; git -C wt commit -q --allow-empty -m wt; git worktree remove wt; git gc -q
		git cherry-pick --keep-redundant-commits --allow-empty main~1
		git init -q new; cp file new; git -C new add .; git -C new commit -qm new
		git clone -q new copy; git -C copy pull -q; git -C copy config user.nick a; git -C copy remote add up ../new; git -C copy sparse-checkout set .
		git clone -q --bare new bare.git; git init -q --separate-git-dir=elsewhere apart; git -C apart commit -q --allow-empty -m x
		git clone -q . inner; git -C inner status; rm -rf new copy bare.git inner
		for i in 1 2 3 4 5 6 7 8 9; do mkdir -p tree/$i/$i/$i; echo > tree/$i/$i/f; mv tree/$i tree/m$i; done; rm -r tree`}})
	o.Want(t, 0)
	if strings.Contains(o.Stderr, "was made in the jail") {
		t.Errorf("taken for an attack:\n%s", o.Stderr)
	}
}

// Control files of programs outside, and git's, in a repository that the command
// has made itself.
func TestS08_ControlFilesAreMovedAside(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.repository(t)
	names := []string{
		".envrc", "a/b/.envrc", ".vscode/tasks.json", "a/.vscode/tasks.json", ".mcp.json", ".claude/settings.json", ".omnijail.yaml",
		"new/.git/hooks/pre-commit", "new/.git/info/attributes", "new/.git/commondir", "unreadable/.git/hooks/post-checkout",
	}
	o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", ".", "--", "sh", "-ec",
		"git init -q new; mkdir -m 300 unreadable; for f in " + strings.Join(names, " ") + `; do mkdir -p "$(dirname $f)"; echo ../../x > "$f"; done
		ln -s ../../etc link; mkdir linked; ln -s ../new/.git linked/.git; mkdir .cargo .mvn; for f in .vscode/settings.json .cargo/config.toml .cargo/env .mvn/jvm.config; do echo {} > $f; done; echo end`}}).Want(t, 0)
	if o.Stdout != "end\n" {
		t.Errorf("the command did not go on: %q", o.Stdout)
	}
	for _, name := range append(names, "linked/.git") {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
		if !strings.Contains(o.Stderr, filepath.Join(dir, name)+" was made in the jail and moved") {
			t.Errorf("%s: the client was not told", name)
		}
		moved, _ := filepath.Glob(filepath.Join(dir, name) + ".omnijail-quarantine-*")
		if len(moved) != 1 {
			t.Errorf("%s was moved to %q", name, moved)
		}
	}
	for name, told := range map[string]bool{".vscode/settings.json": true, ".cargo/config.toml": true, ".mvn/jvm.config": true, ".cargo/env": false} {
		if strings.Contains(o.Stderr, name+" was made in the jail: ") != told {
			t.Errorf("%s told of: %v\n%s", name, !told, o.Stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	id := regexp.MustCompile(`"id":"([0-9a-f]{8})"[^\n]*new_name`).FindStringSubmatch(n.Run(t, Ctl{UID: Alice, Args: []string{"events", "--denied", "--json"}}).Want(t, 0).Stdout)
	if id == nil {
		t.Fatal("no event")
	}
	why := n.Run(t, Ctl{UID: Alice, Args: []string{"why", id[1]}}).Want(t, 0).Stdout
	if !strings.Contains(why, "moved out of the way") || !strings.Contains(why, "mv ") {
		t.Errorf("why says %q", why)
	}
}

func TestS08_WhatThePolicyProtectsIsNotMadeAnew(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"locked": "write_paths: [.]\nprotect: [\"*.lock\", deploy/**/run.sh]\n"}})
	dir := n.Workspace(t, Alice, map[string]string{"old.lock": "old", "deploy/x": ""})
	o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "locked", "--", "sh", "-c",
		"echo new > old.lock; echo new > new.lock; mkdir -p deploy/a/b; echo new > deploy/a/b/run.sh; echo new > deploy/a/b/other; echo end"}}).Want(t, 0)
	if o.Stdout != "end\n" {
		t.Errorf("stdout %q", o.Stdout)
	}
	for name, there := range map[string]bool{"new.lock": false, "deploy/a/b/run.sh": false, "deploy/a/b/other": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); there != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "old.lock")); string(b) != "old" {
		t.Errorf("old.lock holds %q, %v", b, err)
	}
}
