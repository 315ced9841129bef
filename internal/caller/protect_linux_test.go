package caller

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

// found is what a scout protects in the working directory of a request.
type found struct{ readonly, held, git []string }

func protected(t *testing.T, r jail.OpenRequest) found {
	t.Helper()
	g := mustOpen(t, r).Reply.Grants[0]
	return found{sorted(g.ReadOnly), sorted(g.Held), slices.Sorted(slices.Values(g.Git))}
}

func sorted(ns []jail.OpenName) []string { return slices.Sorted(slices.Values(names(ns))) }

func TestS08_GitDirectoriesAreFoundAtAnyDepth(t *testing.T) {
	for name, tt := range map[string]struct {
		files         map[string]string
		readonly, git []string
	}{
		"nested":            {map[string]string{"a/b/.git/HEAD": "", "a/b/.git/config": "", "a/b/.git/hooks/x": ""}, []string{"a/b/.git/config", "a/b/.git/hooks"}, []string{"a/b/.git"}},
		"bare":              {map[string]string{"d/HEAD": "", "d/objects/x": "", "d/refs/x": "", "d/config": ""}, []string{"d/config"}, []string{"d"}},
		"bare without HEAD": {map[string]string{"d/objects/x": "", "d/refs/x": "", "d/config": ""}, []string{"d/config"}, []string{"d"}},
		"submodules": {map[string]string{".git/HEAD": "", ".git/modules/a/b/HEAD": "", ".git/modules/a/b/config": "", ".git/modules/a/b/modules/c/config": ""},
			[]string{".git/modules/a/b/config", ".git/modules/a/b/modules/c/config"}, []string{".git", ".git/modules/a/b", ".git/modules/a/b/modules/c"}},
		"worktrees": {map[string]string{".git/HEAD": "", ".git/worktrees/t/HEAD": "", ".git/worktrees/t/commondir": "../..", ".git/worktrees/t/gitdir": "/x"},
			[]string{".git/worktrees/t/commondir", ".git/worktrees/t/gitdir"}, []string{".git", ".git/worktrees/t"}},
		"a rebase and attributes": {map[string]string{".git/rebase-merge/git-rebase-todo": "", ".git/rebase-merge/done": "", ".git/info/attributes": "", ".git/info/exclude": "", ".git/sequencer/todo": ""},
			[]string{".git/info/attributes", ".git/rebase-merge/git-rebase-todo", ".git/sequencer"}, []string{".git"}},
		"in a package":                   {map[string]string{"node_modules/x/.git/config": "", "node_modules/x/.vscode/t": "", "node_modules/x/.bashrc": ""}, []string{"node_modules/x/.git/config"}, []string{"node_modules/x/.git"}},
		"objects are not looked through": {map[string]string{".git/HEAD": "", ".git/objects/x/.git/config": ""}, nil, []string{".git"}},
		"a plain directory":              {map[string]string{"config": "", "hooks/x": "", "a/refs/x": "", "a/config": "", "info/attributes": ""}, nil, nil},
		"a mask":                         {map[string]string{".env/.git/config": ""}, nil, nil},
		"control files":                  {map[string]string{"a/.vscode/t": "", "b/.bashrc": "", ".vscode/t": ""}, []string{"a/.vscode", "b/.bashrc"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := playground(t)
			for f, text := range tt.files {
				write(t, dir+"/w", f, 0o644, text)
			}
			r := request(dir)
			r.View.Visible = []string{".git"}
			r.View.ReadOnly = []string{".vscode", ".bashrc"}
			got := protected(t, r)
			if !slices.Equal(got.readonly, tt.readonly) || !slices.Equal(got.git, tt.git) {
				t.Errorf("read-only %q, git %q", got.readonly, got.git)
			}
			for _, n := range got.readonly {
				for up := filepath.Dir(n); up != "."; up = filepath.Dir(up) {
					if !slices.Contains(got.held, up) {
						t.Errorf("%s is protected and %s can be renamed", n, up)
					}
				}
			}
		})
	}
}

func TestS08_WhatAConfigurationNames(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	write(t, w, ".git/config", 0o644, "[include]\n\tpath = ../team.config\n\tpath = "+dir+"/outside\n[includeIf \"onbranch:x\"]\n\tpath = "+w+"/abs.config\n[core]\n\thooksPath = hooks\n")
	write(t, w, "team.config", 0o644, "[include]\n\tpath = more/deep.config\n\tpath = ../w/loop.config\n")
	write(t, w, "loop.config", 0o644, "[include]\n\tpath = loop.config\n")
	for _, f := range []string{"abs.config", "more/deep.config", "hooks/pre-commit", "hooks2/x", "own.config"} {
		write(t, w, f, 0o644, "")
	}
	write(t, dir, "home/.gitconfig", 0o600, "[include]\n\tpath = ../w/own.config\n[core]\n\thooksPath = "+w+"/hooks2\n")
	write(t, dir, "outside", 0o644, "[include]\n\tpath = w/src\n")
	write(t, w, "src", 0o644, "")
	symlink(t, "more", w+"/link")
	write(t, w, ".git/config.worktree", 0o644, "[include]\n\tpath = ../link/deep.config\n")
	r := request(dir)
	r.View.Visible = []string{".git"}
	want := []string{".git/config", ".git/config.worktree", "abs.config", "hooks", "hooks2", "link", "loop.config", "more/deep.config", "own.config", "team.config"}
	if got := protected(t, r).readonly; !slices.Equal(got, want) {
		t.Errorf("read-only %q\nwant %q", got, want)
	}
	r.View.GitConfig = true
	if got := protected(t, r).readonly; !slices.Equal(got, []string{"hooks2", "own.config"}) {
		t.Errorf("with git_config, read-only %q", got)
	}
}

// A .git file leads to a git directory that is known as such, or names it in turn;
// one that a command planted leads nowhere.
func TestS08_AGitFileIsFollowedOnlyToWhatPointsBack(t *testing.T) {
	for name, tt := range map[string]struct {
		pointer string
		files   map[string]string
		want    []string
	}{
		"a worktree":             {"gitdir: ../g/wt", map[string]string{"g/wt/gitdir": "W/tree/.git\n", "g/wt/config.worktree": ""}, []string{"g/wt/config.worktree", "g/wt/gitdir", "tree/.git"}},
		"a submodule":            {"gitdir: ../g/m", map[string]string{"g/m/config": "[core]\n\tworktree = ../../tree\n", "g/m/hooks/x": ""}, []string{"g/m/config", "g/m/hooks", "tree/.git"}},
		"sources":                {"gitdir: ../src", map[string]string{"src/config": "", "src/hooks/x": ""}, []string{"tree/.git"}},
		"another's worktree":     {"gitdir: ../g/wt", map[string]string{"g/wt/gitdir": "W/other/.git\n", "g/wt/config.worktree": ""}, []string{"tree/.git"}},
		"outside":                {"gitdir: OUT", nil, []string{"tree/.git"}},
		"outside by dots":        {"gitdir: ../../out", nil, []string{"tree/.git"}},
		"outside by a link":      {"gitdir: ../link", nil, []string{"tree/.git"}},
		"a device":               {"gitdir: /dev/zero", nil, []string{"tree/.git"}},
		"no pointer":             {strings.Repeat("x", 100), nil, []string{"tree/.git"}},
		"itself":                 {"gitdir: .git", nil, []string{"tree/.git"}},
		"the tree around itself": {"gitdir: ..", nil, []string{"tree/.git"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := playground(t)
			w, out := dir+"/w", dir+"/out"
			place := strings.NewReplacer("W", w, "OUT", out)
			write(t, w, "tree/.git", 0o644, place.Replace(tt.pointer))
			write(t, dir, "out/gitdir", 0o644, w+"/tree/.git")
			write(t, dir, "out/config", 0o644, "")
			symlink(t, out, w+"/link")
			for f, text := range tt.files {
				write(t, w, f, 0o644, place.Replace(text))
			}
			if got := protected(t, request(dir)).readonly; !slices.Equal(got, tt.want) {
				t.Errorf("read-only %q, want %q", got, tt.want)
			}
		})
	}
}

func TestS08_LinksArePinnedWithWhatTheyLeadTo(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	write(t, w, ".git/HEAD", 0o644, "")
	write(t, w, "tools/hooks/x", 0o755, "")
	write(t, dir, "out/hooks/x", 0o755, "")
	symlink(t, "../tools/hooks", w+"/.git/hooks")
	mkdir(t, w, "a")
	mkdir(t, w, "b")
	mkdir(t, w, "c")
	symlink(t, "../.git", w+"/a/.git")
	symlink(t, dir+"/out/hooks", w+"/b/.vscode")
	symlink(t, "loop", w+"/c/.vscode")
	symlink(t, ".vscode", w+"/c/loop")
	r := request(dir)
	r.View.Visible = []string{".git"}
	r.View.ReadOnly = []string{".vscode"}
	_, err := open(t, Options{Request: r})
	refused(t, err, "protect", "c/.vscode", "symbolic links")
	os.Remove(w + "/c/loop")
	want := []string{".git/hooks", "a/.git", "b/.vscode", "c/.vscode", "tools/hooks"}
	if got := protected(t, r).readonly; !slices.Equal(got, want) {
		t.Errorf("read-only %q, want %q", got, want)
	}
}

func TestProtectNamesPathsAndGlobs(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	for _, f := range []string{"Makefile", "sub/Makefile", "deploy/prod/run.sh", "deploy/x", "k/a.pem", "[x]/y", "free/z"} {
		write(t, w, f, 0o644, "")
	}
	symlink(t, "w/free", dir+"/alias")
	r := request(dir)
	for _, p := range []string{"Makefile", "*.pem", w + "/deploy/**/*.sh", w + `/\[x]/*`, dir + "/alias/z", w + "/absent", "/etc/passwd"} {
		r.View.Protect = append(r.View.Protect, jail.Protect{Pattern: p, Origin: "p.yaml:1"})
	}
	want := []string{"Makefile", "[x]/y", "deploy/prod/run.sh", "free/z", "k/a.pem", "sub/Makefile"}
	if got := protected(t, r).readonly; !slices.Equal(got, want) {
		t.Errorf("read-only %q, want %q", got, want)
	}
	r.View.Protect = []jail.Protect{{Pattern: "/x/../y"}}
	if _, err := open(t, Options{Request: r}); err == nil {
		t.Error("a path that is not clean is accepted")
	}
}

// A grant of exactly a control file is what its owner asked for; what git runs is
// not for the asking.
func TestAnExactGrantOfAControlFileHolds(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	write(t, w, "sub/.vscode/tasks.json", 0o644, "")
	r := request(dir)
	r.View.ReadOnly = []string{".vscode"}
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: w + "/sub/.vscode", Write: true})
	if got := protected(t, r).readonly; len(got) != 0 {
		t.Errorf("read-only %q", got)
	}
}

// A repository made to be hard to look through costs its bound and is refused with
// the line to change; loops of links are no way at all.
func TestS08_AHostileRepositoryIsBounded(t *testing.T) {
	t.Run("too many", func(t *testing.T) {
		dir := playground(t)
		for i := range 300 {
			write(t, dir+"/w", fmt.Sprintf("d%d/f", i), 0o644, "")
		}
		r := request(dir)
		r.View.ScanMax = 599
		_, err := open(t, Options{Request: r})
		refused(t, err, "protect_scan", "more than 599 entries", "protect_scan: {max: 2396}")
		r.View.ScanMax = 600
		mustOpen(t, r)
	})
	t.Run("too deep", func(t *testing.T) {
		dir := playground(t)
		mkdir(t, dir+"/w", strings.Repeat("d/", 70)+"d")
		_, err := open(t, Options{Request: request(dir)})
		refused(t, err, "protect_scan", "more than 64 directories deep", "protect_scan: {depth: 256}")
	})
	t.Run("a path without end", func(t *testing.T) {
		dir := playground(t)
		deep(t, dir+"/w", 30)
		_, err := open(t, Options{Request: request(dir)})
		refused(t, err, "protect_scan", "too long")
	})
	t.Run("loops", func(t *testing.T) {
		dir := playground(t)
		mkdir(t, dir, "w/a/b")
		symlink(t, "../..", dir+"/w/a/b/up")
		symlink(t, "/", dir+"/w/a/root")
		symlink(t, ".", dir+"/w/self")
		write(t, dir, "w/a/b/.git/config", 0o644, "")
		if got := protected(t, request(dir)).readonly; !slices.Equal(got, []string{"a/b/.git/config"}) {
			t.Errorf("read-only %q", got)
		}
	})
	t.Run("unreadable", func(t *testing.T) {
		dir := playground(t)
		p := mkdir(t, dir, "w/a")
		os.Chmod(p, 0o300)
		_, err := open(t, Options{Request: request(dir)})
		refused(t, err, "protect_scan", p, "chmod u+rx")
		os.Chmod(p, 0o700)
		os.Lchown(p, 0, 0)
		mustOpen(t, request(dir)) // root's own: the command cannot enter it either
	})
	t.Run("too many to protect", func(t *testing.T) {
		dir := playground(t)
		for i := range 2100 {
			write(t, dir+"/w", fmt.Sprintf("d%d/.envrc", i), 0o644, "")
		}
		r := request(dir)
		r.View.ReadOnly = []string{".envrc"}
		_, err := open(t, Options{Request: r})
		refused(t, err, "protect", "more than 4096 names", "grant less")
	})
}

// deep makes a chain of directories whose path is longer than a path may be.
func deep(t *testing.T, dir string, levels int) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { root.Close() }()
	name := strings.Repeat("x", 200)
	for range levels {
		if err := root.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := root.Lchown(name, someone, someone); err != nil {
			t.Fatal(err)
		}
		next, err := root.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		root = next
	}
}
