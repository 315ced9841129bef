package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestExitCodesComeWithTheRealReason(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{
		"plain.txt": "no program\n", "noshebang": "echo hello\n", "nointerpreter": "#!/nowhere/sh\n", "ok": "#!/bin/sh\nexit 5\n",
	})
	for _, name := range []string{"noshebang", "nointerpreter", "ok"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		flags  []string
		argv   []string
		code   int
		reason string // on standard error; empty: nothing of ours is there
	}{
		{"success", nil, []string{"true"}, 0, ""},
		{"the command's own", nil, []string{"sh", "-c", "exit 7"}, 7, ""},
		{"a script's", nil, []string{"./ok"}, 5, ""},
		{"a code that looks like ours", nil, []string{"sh", "-c", "exit 125"}, 125, ""},
		{"SIGTERM", nil, []string{"sh", "-c", "kill -TERM $$"}, 143, ""},
		{"SIGKILL", nil, []string{"sh", "-c", "kill -KILL $$"}, 137, ""},
		{"timeout", []string{"--timeout", "200ms"}, []string{"sleep", "1000"}, 124, "stopped: time limit 200ms"},
		{"timeout of a command that ignores SIGTERM", []string{"--timeout", "200ms"}, []string{"sh", "-c", "trap '' TERM; sleep 1000; sleep 1000"}, 124, "stopped: time limit 200ms"},
		{"not found on PATH", nil, []string{"no-such-command"}, 127, "no-such-command: command not found in your PATH"},
		{"no such file", nil, []string{"./nothing"}, 127, "./nothing does not exist"},
		{"no interpreter", nil, []string{"./nointerpreter"}, 127, "its interpreter is not"},
		{"not executable", nil, []string{"./plain.txt"}, 126, "./plain.txt cannot be executed: permission denied"},
		{"a directory", nil, []string{"/usr"}, 126, "/usr cannot be executed: is a directory"},
		{"no program", nil, []string{"./noshebang"}, 126, "nor a script with #!"},
		{"no such policy", []string{"--policy", "nobody-has-it"}, []string{"true"}, 125, "nobody-has-it"},
		{"no such directory", []string{"--cwd", "/nowhere"}, []string{"true"}, 125, "/nowhere"},
		{"no such grant", []string{"--read", "/nowhere"}, []string{"true"}, 125, "/nowhere"},
		{"no command", nil, nil, 64, "there is no command to run"},
		{"no such flag", []string{"--nonsense"}, []string{"true"}, 64, "--nonsense"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := slices.Concat([]string{"exec"}, c.flags, []string{"--"}, c.argv)
			o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: args}).Want(t, c.code)
			said := ours(o.Stderr)
			if c.reason == "" && said != "" || !strings.Contains(said, c.reason) {
				t.Errorf("want the reason %q, stderr:\n%s", c.reason, o.Stderr)
			}
		})
	}
}

// Arguments are bytes: each arrives as it was given. A directory whose name JSON
// cannot carry is refused by name, never replaced by another.
func TestArgumentsArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	args := []string{"", " ", "\xff\xfe", "é", "a\nb", "--", "-c", "$HOME `id` \"'", strings.Repeat("x", 100_000)}
	o := n.Exec(t, append([]string{"--", "/usr/bin/printf", `%s\0`}, args...)...).Want(t, 0)
	if got := strings.Split(strings.TrimSuffix(o.Stdout, "\x00"), "\x00"); !slices.Equal(got, args) {
		t.Errorf("%d arguments arrived: %.80q", len(got), got)
	}
	dir := n.Workspace(t, Alice, map[string]string{"\xffdir/file": "here\n"})
	o = n.Run(t, Ctl{UID: Alice, Dir: filepath.Join(dir, "\xffdir"), Args: []string{"exec", "--", "cat", "file"}}).Want(t, 125)
	if !strings.Contains(o.Stderr, "cwd: a path that is not UTF-8 cannot be granted in this build") {
		t.Errorf("in a directory whose name is not UTF-8: %+v", o)
	}
}
