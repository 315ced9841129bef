package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEachFactIsProbedOnceAndHasAFix(t *testing.T) {
	f := Probe(t.Context(), Probes{Bwrap: "/nowhere/bwrap", Drop: func() error { return errors.New("ended as uid 0") }})
	seen := map[Name]bool{}
	for _, fact := range f.Facts {
		if seen[fact.Name] {
			t.Errorf("%s is there twice", fact.Name)
		}
		seen[fact.Name] = true
		if fact.Detail == "" || (fact.Answer == Yes) != (fact.Fix == "") {
			t.Errorf("%+v: a detail always, a fix unless yes", fact)
		}
	}
	for _, fact := range able().Facts {
		if !seen[fact.Name] {
			t.Errorf("%s was not probed", fact.Name)
		}
	}
	if len(seen) != len(able().Facts) {
		t.Errorf("%d facts, want %d", len(seen), len(able().Facts))
	}
	for name, want := range map[Name]Answer{Drop: No, Network: Inconclusive, Bwrap: No, BwrapUsable: Inconclusive} {
		if got := f.Get(name); got.Answer != want {
			t.Errorf("%s: %+v, want %v", name, got, want)
		}
	}
}

// This test runs as root of the node, as the daemon does.
func TestThisNode(t *testing.T) {
	f := Probe(t.Context(), Probes{Bwrap: "/usr/bin/bwrap", Drop: func() error { return nil }, Network: func() error { return nil }})
	for _, name := range []Name{Root, Drop, Network, SafeOpen, Pidfd, MountByFD, DevPTS, Seccomp, KillGroup} {
		if fact := f.Get(name); fact.Answer != Yes {
			t.Errorf("%+v", fact)
		}
	}
	if (f.LandlockABI > 0) != (f.Get(Landlock).Answer == Yes) {
		t.Errorf("ABI %d, %+v", f.LandlockABI, f.Get(Landlock))
	}
}

// program writes a script where only root can change it.
func program(t *testing.T, script string, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("/run", "omnijail-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "bwrap")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // past the umask
		t.Fatal(err)
	}
	return path
}

func TestBubblewrapIsAskedForItsOptions(t *testing.T) {
	help := "case $1 in --version) echo bubblewrap 0.6.1;; --help) echo '" + strings.Join(BwrapOptions[1:], " X\n ") + "';; esac\n"
	whole := strings.Replace(help, "echo '", "echo '"+BwrapOptions[0]+" ", 1)
	t.Setenv("LD_LIBRARY_PATH", "/nowhere")
	for _, tc := range []struct {
		what, script   string
		bwrap, options Answer
		detail         string
	}{
		{"all options", whole, Yes, Yes, ""},
		{"one lacking", help, Yes, No, "(bubblewrap 0.6.1) has no --args"},
		{"an option that begins alike", strings.Replace(whole, "--args ", "--args-fd ", 1), Yes, No, "has no --args"},
		{"fails", "exit 1\n", Inconclusive, Inconclusive, "exit status 1"},
		{"a help that fails", "test $1 = --version\n", Yes, Inconclusive, "exit status 1"},
		{"the environment", "test -z \"$HOME$LD_LIBRARY_PATH\" || exit 1\n" + whole, Yes, Yes, ""},
	} {
		facts := bubblewrap(t.Context(), program(t, tc.script, 0o755))
		if facts[0].Answer != tc.bwrap || facts[1].Answer != tc.options || !strings.Contains(facts[1].Detail, tc.detail) {
			t.Errorf("%s: %+v", tc.what, facts)
		}
	}
}

func TestABwrapThatHangsIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	facts := bubblewrap(ctx, program(t, "sleep 1000 & exec sleep 1000\n", 0o755))
	if facts[0].Answer != Inconclusive || facts[1].Answer != Inconclusive {
		t.Errorf("%+v", facts)
	}
}

func TestOnlyRootsOwnBwrapIsRun(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	script := "echo ran >" + marker + "\n"
	for what, path := range map[string]string{
		"relative":         "bwrap",
		"missing":          "/nowhere/bwrap",
		"group-writable":   program(t, script, 0o775),
		"not executable":   program(t, script, 0o644),
		"a directory":      filepath.Dir(program(t, script, 0o755)),
		"another owner's":  owned(t, program(t, script, 0o755)),
		"another's folder": ownedParent(t, program(t, script, 0o755)),
		"a link to theirs": linkTo(t, program(t, script, 0o777)),
	} {
		if facts := bubblewrap(t.Context(), path); facts[0].Answer != No || facts[0].Fix == "" {
			t.Errorf("%s: %+v", what, facts[0])
		}
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one of them was run: %v", err)
	}
}

const nobody = 65534

func owned(t *testing.T, path string) string {
	t.Helper()
	if err := os.Chown(path, nobody, 0); err != nil {
		t.Fatal(err)
	}
	return path
}

func ownedParent(t *testing.T, path string) string {
	t.Helper()
	owned(t, filepath.Dir(path))
	return path
}

func linkTo(t *testing.T, target string) string {
	t.Helper()
	link := filepath.Join(filepath.Dir(program(t, "", 0o755)), "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	return link
}
