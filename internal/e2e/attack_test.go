package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sh runs a script in a jail of alice's whose working directory is dir, writable,
// and returns what it printed. The script must end well. flags come before "--".
func (n *Node) sh(t testing.TB, dir, script string, flags ...string) string {
	t.Helper()
	args := append([]string{"exec", "--write", dir}, flags...)
	return n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append(args, "--", "sh", "-c", script)}).Want(t, 0).Stdout
}

// compile builds a C program, or with "-shared" and "-fPIC" a library, into dir.
func compile(t testing.TB, dir, name, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(dir, name)
	cmd := exec.Command("gcc", append(flags, "-x", "c", "-w", "-o", out, "-")...)
	cmd.Stdin = strings.NewReader(source)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, b)
	}
	return out
}

// wantLines compares line by line, so that a failure shows what differs.
func wantLines(t testing.TB, got string, want ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(got, "\n"), "\n")
	for i := range max(len(lines), len(want)) {
		var g, w string
		if i < len(lines) {
			g = lines[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d is %q, want %q", i+1, g, w)
		}
	}
}

// wantNone fails if a file exists: an attack leaves one where it got through.
func wantNone(t testing.TB, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil {
			t.Errorf("the attack got through: %s holds %q", p, b)
		}
	}
}

// wantRefused fails unless omnijail itself refused with a reason that holds all
// of the words.
func (o Output) wantRefused(t testing.TB, words ...string) {
	t.Helper()
	if o.Exit != 125 && o.Exit != 64 {
		t.Errorf("exit %d, want 125\nstdout:\n%s\nstderr:\n%s", o.Exit, o.Stdout, o.Stderr)
	}
	for _, w := range words {
		if !strings.Contains(o.Stderr, w) {
			t.Errorf("no %q in the reason: %s", w, o.Stderr)
		}
	}
}
