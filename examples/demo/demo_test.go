package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// programs builds the demo and what it needs beside itself.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-tags", "netgo,osusergo", "-o", dir+"/", "./cmd/...", "./examples/demo")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return dir
}

func TestDemo(t *testing.T) {
	bin := programs(t)
	tmp, err := os.MkdirTemp("", "demo-test-") // t.TempDir lies in one that others cannot enter
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(tmp) })
		err = os.Chmod(tmp, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	play := func(env ...string) (stdout, stderr string, err error) {
		cmd := exec.Command(filepath.Join(bin, "demo"))
		cmd.Dir = "../.."
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp}, env...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err = cmd.Run()
		return out.String(), errs.String(), err
	}

	t.Run("every proof holds", func(t *testing.T) {
		out, errs, err := play()
		if err != nil || strings.Contains(out, "NO  ") {
			t.Fatalf("%v\n%s%s", err, out, errs)
		}
		for _, want := range []string{
			`"login":"octocat"`, "GET https://api.github.com/user", "the real token arrived", "the real token is 0 times",
			"no rule allows it", "tcp://", "omnijailctl why", "nothing of this reached the upstream", "is left",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not show %q:\n%s", want, out)
			}
		}
		if strings.Contains(out, pretend) || strings.Contains(out, "\x1b") {
			t.Errorf("the token or an escape sequence, not on a terminal:\n%s", out)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	})
	t.Run("live needs a login", func(t *testing.T) {
		if _, errs, err := play("DEMO=live"); err == nil || !strings.Contains(errs, "GH_TOKEN") {
			t.Errorf("%v: %s", err, errs)
		}
	})
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left in the temporary directory: %v", left)
	}
}

func TestFinderSeesWhatTwoWritesShare(t *testing.T) {
	f := newFinder("secret")
	c := &counting{to: []*finder{f}}
	for _, part := range []string{"a secret, and a s", "ec", "ret; not a secre", "", "t"} {
		c.Write([]byte(part))
	}
	if f.found != 3 || c.bytes != 36 {
		t.Errorf("found %d times in %d bytes, want 3 in 36", f.found, c.bytes)
	}
}

func TestScreenCutsAndCounts(t *testing.T) {
	var b bytes.Buffer
	s := &screen{w: &b}
	s.line("one\x1b]0;title\x07 " + strings.Repeat("x", 200))
	s.lines(strings.Repeat("word ", 50), 9)
	s.proof(false, "a claim")
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(line) > width+1 || strings.ContainsAny(line, "\x1b\x07") {
			t.Errorf("%q", line)
		}
	}
	if err := s.verdict(); err == nil {
		t.Error("a proof failed and the verdict is good")
	}
}
