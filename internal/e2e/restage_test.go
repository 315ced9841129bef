package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// restageNode is a node with a policy under which a command goes on.
func restageNode(t *testing.T) (n *Node, dir string) {
	t.Helper()
	n = NewNode(t, Options{NoLab: true, Policy: map[string]string{"go-on": "caller: [cwd]\nwrite_paths: [\".\"]\non_replaced: restage\n"}})
	return n, n.Workspace(t, Alice, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", ".git/hooks/x.sample": "", ".env": "SECRET=1\n",
		".vscode/settings.json": "{}\n", "tick": "",
	})
}

// busyWriter does nothing but try what it must not, and ticks.
const busyWriter = `echo began
	while :; do
		echo pwned >> .git/config; echo pwned >> .env; echo pwned >> .vscode/settings.json; echo pwned >> .git/hooks/pwned
		echo x >> tick
	done 2>/dev/null`

// ticks waits until the writer has been round a few times, or is over.
func ticks(t *testing.T, dir string, run *running) {
	t.Helper()
	size := func() int64 {
		fi, err := os.Stat(filepath.Join(dir, "tick"))
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size()
	}
	before := size()
	until(t, "the writer goes on", func() bool {
		select {
		case <-run.done:
			return true
		default:
			return size() > before+6
		}
	})
}

// protected are the files that the writer is after.
func protected(t *testing.T, dir string) string {
	t.Helper()
	var s strings.Builder
	for _, name := range []string{".git", ".env", ".vscode"} {
		s.WriteString(inventory(t, filepath.Join(dir, name)))
	}
	return s.String()
}

// Outside, protected files are replaced again and again while a command of a session
// does nothing but write into them. It goes on, and each is protected again: what it
// writes before it stands still is the same residue as where it is ended.
func TestS09_AFileReplacedOutsideIsProtectedAgain(t *testing.T) {
	t.Parallel()
	n, dir := restageNode(t)
	id := n.create(t, "--policy", "go-on", "--cwd", dir)
	run := n.launch(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--jail", id, "--", "sh", "-c", busyWriter}})
	run.says(t, "began")
	vscode := func() {
		p := filepath.Join(dir, ".vscode")
		next := p + "~"
		if err := errors.Join(os.RemoveAll(p), os.Mkdir(next, 0o755), os.Chown(next, Alice, Alice),
			os.WriteFile(next+"/settings.json", []byte("{}\n"), 0o666), os.Rename(next, p)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range soak(t, 24) {
		switch i % 4 {
		case 0:
			replace(t, filepath.Join(dir, ".git/config"), "[core]\n", Alice)
		case 1:
			replace(t, filepath.Join(dir, ".env"), "SECRET=2\n", Alice)
		case 2: // as some programs save: the old one goes first
			p := filepath.Join(dir, ".env")
			if err := errors.Join(os.Remove(p), os.WriteFile(p, []byte("SECRET=3\n"), 0o666)); err != nil {
				t.Fatal(err)
			}
		case 3:
			vscode()
		}
		// Protected: the writer goes on and changes nothing. Unprotected, it would
		// with each round.
		until(t, "it is protected again", func() bool {
			before := protected(t, dir)
			ticks(t, dir, run)
			return protected(t, dir) == before
		})
	}
	if o := n.in(t, id, "cat .env; ls -A .vscode", "--cwd", dir).Want(t, 0); o.Stdout != "" {
		t.Errorf("another command sees %q", o.Stdout)
	}
	text := run.errs.String()
	for _, name := range []string{".git/config", ".env", ".vscode"} {
		if !strings.Contains(text, filepath.Join(dir, name)+" was replaced outside while the command ran: the command was stopped until") {
			t.Errorf("nothing is said of %s:\n%s", name, text)
		}
	}
	select {
	case <-run.done:
		t.Errorf("the command is over: %s", text)
	default:
		run.ctl.signal(t, 9)
	}
}

// A loop of renames that does not wait leaves no moment in which the file stays
// unprotected: the command is protected again or ended.
func TestS09_ALoopOfReplacementsEndsProtected(t *testing.T) {
	t.Parallel()
	n, dir := restageNode(t)
	run := n.launch(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "go-on", "--", "sh", "-c", busyWriter}})
	run.says(t, "began")
	for range soak(t, 300) {
		replace(t, filepath.Join(dir, ".git/config"), "[core]\n", Alice)
	}
	until(t, "it is protected again, or over", func() bool {
		before := protected(t, dir)
		ticks(t, dir, run)
		return protected(t, dir) == before
	})
	run.ctl.signal(t, 9)
	run.finish(t)
}

// What cannot be protected again ends the command.
func TestS09_WhatCannotBeProtectedAgainEndsTheCommand(t *testing.T) {
	t.Parallel()
	// What is gone must not come back by the command's own hand.
	writer := strings.ReplaceAll(busyWriter, "echo pwned >> .env;", "")
	for _, c := range []struct {
		name, reason string
		replace      func(dir string) error
	}{
		{"a parent of what is protected", "what lies below it is protected too", func(dir string) error {
			return errors.Join(os.Rename(dir+"/.git", dir+"/old"), os.Mkdir(dir+"/.git", 0o777))
		}},
		{"removed for good", "has not come back", func(dir string) error { return os.Remove(dir + "/.env") }},
		{"a link in its place", "would have to be protected now", func(dir string) error {
			return errors.Join(os.Symlink("tick", dir+"/.env~"), os.Rename(dir+"/.env~", dir+"/.env"))
		}},
		{"a configuration that includes another file", "would have to be protected now", func(dir string) error {
			text := "[core]\n[include]\n\tpath = ../tick\n"
			return errors.Join(os.WriteFile(dir+"/c", []byte(text), 0o666), os.Rename(dir+"/c", dir+"/.git/config"))
		}},
		{"a file with another name", "", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/c", []byte("X=1\n"), 0o666), os.Link(dir+"/c", dir+"/d"), os.Rename(dir+"/c", dir+"/.env"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, dir := restageNode(t)
			run := n.launch(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "go-on", "--", "sh", "-c", writer}})
			run.says(t, "began")
			if err := c.replace(dir); err != nil {
				t.Fatal(err)
			}
			o := run.finish(t).Want(t, 125)
			if !strings.Contains(o.Stderr, "because it could not be protected again: ") || !strings.Contains(o.Stderr, c.reason) {
				t.Errorf("it says %s", o.Stderr)
			}
		})
	}
}
