package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// outside runs a shell script as alice outside of any jail.
func (n *Node) outside(t testing.TB, dir, script string, args ...string) string {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + n.Home(t, Alice)}, identity...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Alice, Gid: Alice}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("outside: %v\n%s", err, out)
	}
	return string(out)
}

var identity = []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}

// repositories makes, below one directory: up, which others fetch from; ws, a clone
// of it with the submodule sub; and tree, a worktree of ws.
func (n *Node) repositories(t testing.TB) string {
	t.Helper()
	dir := n.Workspace(t, Alice, nil)
	n.outside(t, dir, `
		git init -q -b main up; cd up; echo 1 >f; git add f; git commit -qm 1
		git branch feature; echo 2 >f; git commit -qam 2; echo 3 >f; git commit -qam 3; cd ..
		git clone -q up ws; cd ws
		git -c protocol.file.allow=always submodule --quiet add ../up sub; git commit -qm sub
		git worktree add -q ../tree -b side; cd ../tree; echo t >t`)
	return dir
}

// Everyday work, in a clone, in its submodule and in a worktree.
const gitWork = `set -e
	export GIT_EDITOR=true
	echo a >a; git add a; git commit -qm a; echo b >>a; git commit -qam b
	git switch -q -c work$$; echo c >>a; git commit -qam c
	git checkout -q -; git checkout -q work$$; git checkout -q feature 2>/dev/null || git checkout -q -b feature
	git checkout -q work$$
	GIT_SEQUENCE_EDITOR='sed -i s/^pick/reword/' git rebase -q -i HEAD~2
	GIT_SEQUENCE_EDITOR='sed -i 1s/^pick/edit/' git rebase -q -i HEAD~2 2>/dev/null
	echo e >e; git add e; git commit -q --amend --no-edit; git rebase --continue >/dev/null 2>&1
	echo s >>a; git stash -q; git stash pop -q; git checkout -q a
	git worktree add -q ../wt$$ HEAD; (cd ../wt$$; echo w >w; git add w; git commit -qm w)
	git gc -q; git fetch -q; git tag v$$; git status --short
	git clone -q . ../clone$$; (cd ../clone$$; echo d >d; git add d; git commit -qm d)
	git init -q ../new$$; (cd ../new$$; git config user.name x; echo n >n; git add n; git commit -qm n)
	git log --oneline -1 --format=tformat:done`

func TestGitWorksInAWritableRepository(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	for _, c := range []string{"ws", "ws/sub", "tree"} {
		t.Run(c, func(t *testing.T) {
			dir := n.repositories(t)
			out := n.gitIn(t, dir, filepath.Join(dir, c), gitWork)
			if !strings.HasSuffix(out.Stdout, "done\n") {
				t.Errorf("stdout %s\nstderr %s", out.Stdout, out.Stderr)
			}
			out.Want(t, 0)
		})
	}
}

// gitIn runs a script in a jail that may write all of dir, in cwd.
func (n *Node) gitIn(t testing.TB, dir, cwd, script string, flags ...string) Output {
	t.Helper()
	args := append([]string{"exec", "--write", dir}, flags...)
	for _, kv := range identity {
		args = append(args, "--env", kv)
	}
	return n.Run(t, Ctl{UID: Alice, Dir: cwd, Args: append(args, "--", "sh", "-c", script)})
}

// What must write the configuration of a repository does not: git says so, and we
// say what would let it.
func TestS08_GitConfigIsWritableByWeakeningOnly(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{
		NoLab: true, Config: weakenFor("git_config"),
		Policy: map[string]string{"open": "caller: [cwd, tty, timeout, write, env]\nweaken: [git_config]\n"},
	})
	dir := n.repositories(t)
	for _, cwd := range []string{"ws", "ws/sub", "tree"} {
		at := filepath.Join(dir, cwd)
		for _, script := range []string{"git remote add x y", "git config core.fsmonitor ./evil", "git config --worktree core.fsmonitor ./evil; exit 1"} {
			o := n.gitIn(t, dir, at, script)
			if o.Exit == 0 || !strings.Contains(o.Stderr, "weaken: [git_config]") || !strings.Contains(o.Stderr, "config") {
				t.Errorf("%s in %s: exit %d, %s", script, cwd, o.Exit, o.Stderr)
			}
		}
		if o := n.gitIn(t, dir, at, "git push -u origin HEAD:refs/heads/new-"+filepath.Base(cwd)); !strings.Contains(o.Stderr, "could not write config file") {
			t.Errorf("push -u in %s: exit %d, %s", cwd, o.Exit, o.Stderr)
		}
		n.gitIn(t, dir, at, "set -e; git remote add x-"+filepath.Base(cwd)+" y; git push -qu origin HEAD:refs/heads/set-"+filepath.Base(cwd)+"; git remote", "--policy", "open").Want(t, 0)
		if o := n.gitIn(t, dir, at, `for f in $(git rev-parse --git-common-dir)/hooks/new; do echo x > $f; done`, "--policy", "open"); o.Exit == 0 {
			t.Errorf("with git_config, a hook was written in %s", cwd)
		}
	}
}

// weakenFor lets the suite's callers use a weakening.
func weakenFor(words ...string) map[string]any {
	return map[string]any{"access": []any{map[string]any{
		"groups": []string{strconv.Itoa(socketGID)}, "policies": []string{"own", "*"}, "weaken": words,
	}}}
}

// In a worktree or submodule whose repository is not granted git finds none, and so it
// does below the top of one. A command of git's is told so. What a .git file names is
// not: a jail could have written it.
func TestGitIsToldOfARepositoryThatIsNotThere(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	dir := n.repositories(t)
	n.outside(t, dir, "mkdir -p ws/deep/down; git -C ws worktree add -q deep/nested -b nested")
	const linked = "git rev-parse --git-common-dir (outside)"
	for cwd, want := range map[string]struct{ hint, grant string }{
		"tree": {linked, "ws/.git"}, "ws/deep/nested": {linked, "ws/.git"}, "ws/sub": {linked, "ws/.git/modules/sub"},
		"ws/deep/down": {"omnijailctl exec --cwd '" + dir + "/ws' -- …", ""},
	} {
		run := func(args ...string) Output {
			return n.Run(t, Ctl{UID: Alice, Dir: filepath.Join(dir, cwd), Args: append([]string{"exec", "--write", "."}, args...)})
		}
		if o := run("--", "git", "status"); o.Exit != 128 || !strings.Contains(o.Stderr, "\nhint: "+want.hint) {
			t.Errorf("%s: exit %d, want the hint %q\n%s", cwd, o.Exit, want.hint, o.Stderr)
		}
		if o := run("--", "false"); strings.Contains(o.Stderr, "repository") {
			t.Errorf("%s: another command is told: %s", cwd, o.Stderr)
		}
		if want.grant != "" {
			for _, flag := range []string{"--read", "--write"} { // the hint's
				run(flag, filepath.Join(dir, want.grant), "--", "git", "status").Want(t, 0)
			}
		}
	}
}
