package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asUser runs a program as a user, outside of any jail.
func (n *Node) asUser(t testing.TB, uid uint32, dir string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + n.Home(t, uid), "GIT_EDITOR=true"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// repository makes a git repository of alice's with one commit of a file.
func (n *Node) repository(t testing.TB) (dir string) {
	t.Helper()
	config := "[user]\n\tname = Alice\n\temail = a@example.test\n[init]\n\tdefaultBranch = main\n[advice]\n\taddEmbeddedRepo = false\n"
	if err := os.WriteFile(filepath.Join(n.Home(t, Alice), ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	dir = n.Workspace(t, Alice, map[string]string{"file": "1\n", ".gitignore": ".cache\ntick\n", ".cache/x": "", "deep/down/x": ""})
	for _, c := range []string{"git init -q", "rm -r .git/hooks", "git add .", "git commit -qm one", "git commit -q --allow-empty -m two"} {
		if out, err := n.asUser(t, Alice, dir, strings.Fields(c)...); err != nil {
			t.Fatalf("%s: %v\n%s", c, err, out)
		}
	}
	return dir
}

// The ways to have a program run by a git command outside. Prepared files do
// nothing yet; one rename plants them.
var plants = []struct {
	name, config, prepare, plant, outside string
}{
	{"commondir", "", `cp -r .git .cache/evil; fs >> .cache/evil/config; echo ../.cache/evil > .cache/c`,
		`mv .cache/c .git/commondir`, "git status"},
	{"nested repository", "", `git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub; cp sub/.git/config .cache/c; fs >> .cache/c`,
		`cp .cache/c sub/.git/config`, "git status"},
	{"nested repository, moved in", "", `git init -q .cache/r; git -C .cache/r commit -q --allow-empty -m x; mkdir sub; fs > .cache/r/.git/nfig
			rm .cache/r/.git/HEAD; mv .cache/r/.git .cache/r/git; mv .cache/r/git/nfig .cache/r/git/config; echo ref: refs/heads/main > .cache/r/git/HEAD2; mv .cache/r/git sub/git; git add sub`,
		`mv sub/git/HEAD2 sub/git/HEAD; mv sub/git sub/.git; git add sub`, "git -C sub status"},
	{"config.worktree", "[extensions]\n\tworktreeConfig = true\n", `fs > .cache/c`, `mv .cache/c .git/config.worktree`, "git status"},
	{"bare layout", "", `mkdir -p deep/docs/objects deep/docs/refs; { echo '[core]'; echo 'repositoryformatversion = 0'; echo 'bare = false'; echo 'worktree = ..'; fs; } > deep/docs/config; cp .git/index deep/docs; echo ref: refs/heads/main > deep/docs/H`,
		`mv deep/docs/H deep/docs/HEAD`, "git -C deep/docs status"},
	{"list of a rebase", "", `GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --keep-empty HEAD~1; mv .git/rebase-merge .git/saved
			echo "exec touch $M" > .git/saved/git-rebase-todo`,
		`mv .git/saved .git/rebase-merge`, "git rebase --continue"},
	{"hook", "", `mkdir .git/h; printf '#!/bin/sh\ntouch %s\n' "$M" > .git/h/pre-commit; chmod +x .git/h/pre-commit`,
		`mv .git/h .git/hooks`, "git commit -q --allow-empty -m tick"},
	{"included file", "[include]\n\tpath = ../shared.gitconfig\n", `fs > .cache/c`, `mv .cache/c shared.gitconfig`, "git status"},
	{"pointer", "", `git init -q --bare .cache/p; printf '[core]\nworktree = %s\n' "$PWD/sub" >> .cache/p/config; sed -i s/bare.=.true/bare=false/ .cache/p/config
			mkdir sub; mv .cache/p/config .cache/p/c; fs >> .cache/p/c; echo gitdir: ../.cache/p > .cache/g; mv .cache/g sub/.git`,
		`mv .cache/p/c .cache/p/config`, "git -C sub status"},
}

// attack plants in a jail while a git command runs outside every 50 ms, and says
// whether the program ran. The plant comes just after one of them, and the next
// comes when the client has been told of it: what runs within the moment before the
// stop is the stated residue, and no matter of how busy this machine is.
func attack(t *testing.T, n *Node, vector int, policy string) (ran bool, stderr string) {
	v := plants[vector]
	dir := n.repository(t)
	if v.config != "" {
		f, err := os.OpenFile(filepath.Join(dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, v.config)
		f.Close()
	}
	marker, tick := filepath.Join(dir, ".cache", "marker"), filepath.Join(dir, "tick")
	script := `fs() { printf '[core]\n\tfsmonitor = "touch %s; false"\n' "$M"; }
		count() { wc -c < tick; }
		until_tick() { to=$(($(count) + $1)); while [ "$(count)" -lt $to ]; do :; done; }
		` + v.prepare + `
		: > tick; echo ready; until [ -s tick ]; do :; done
		` + v.plant + `
		until_tick 6`
	cmd := n.Command(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", policy, "--env", "M=" + marker, "--", "sh", "-c", script}})
	var errs syncBuffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if b := make([]byte, 16); func() bool { n, _ := out.Read(b); return string(b[:n]) != "ready\n" }() {
		cmd.Wait()
		t.Fatalf("the attack was not prepared: %s", errs.String())
	}
	ended := make(chan struct{})
	var loop sync.WaitGroup
	loop.Go(func() {
		for i := 0; ; i++ {
			n.asUser(t, Alice, dir, strings.Fields(v.outside)...)
			f, err := os.OpenFile(tick, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				f.Write([]byte("x"))
				f.Close()
			}
			if i == 0 {
				late, cancel := context.WithTimeout(context.Background(), hang/4)
				errs.waitFor("was made in the jail", late.Done())
				cancel()
			}
			select {
			case <-ended:
				n.asUser(t, Alice, dir, strings.Fields(v.outside)...)
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	timer := time.AfterFunc(hang, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	close(ended)
	loop.Wait()
	if !timer.Stop() {
		t.Fatalf("the attack hangs: %v\n%s", err, errs.String())
	}
	_, err = os.Stat(marker)
	return err == nil, errs.String()
}

func TestS08_NothingPlantedRunsOutside(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{
		"watched": "caller: [cwd, env]\nwrite_paths: [.]\n", "detected": "caller: [cwd, env]\nwrite_paths: [.]\nprotect_new: detect\n",
	}})
	for i, v := range plants {
		t.Run(v.name, func(t *testing.T) {
			ran, stderr := attack(t, n, i, "watched")
			if ran {
				t.Errorf("the program ran outside\n%s", stderr)
			}
			if !strings.Contains(stderr, "was made in the jail and moved out of the way") {
				t.Errorf("the client was told:\n%s", stderr)
			}
		})
		t.Run(v.name+", left where it is", func(t *testing.T) { // the attack is one
			ran, stderr := attack(t, n, i, "detected")
			if !ran {
				t.Errorf("the program did not run\n%s", stderr)
			}
			if !strings.Contains(stderr, "was made in the jail: ") {
				t.Errorf("the client was told:\n%s", stderr)
			}
		})
	}
}
