package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestWhichPolicyWithoutOne(t *testing.T) {
	p := newProject(t, "")
	steps := []struct {
		add  string
		kind Kind
	}{
		{"", Builtin},
		{filepath.Join(p.lib.Root, "default.yaml"), Root},
		{filepath.Join(p.lib.User, "default.yaml"), User},
		{filepath.Join(p.dir, LocalName), File},
	}
	for _, s := range steps {
		if s.add != "" {
			write(t, s.add, "")
		}
		f, err := p.lib.Find("", p.dir)
		if err != nil || f.Kind != s.kind || f.Path != s.add {
			t.Errorf("got %+v %v, want %s", f, err, s.kind)
		}
	}
	// A local policy that cannot be read is not skipped for a weaker one.
	local := filepath.Join(p.dir, LocalName)
	os.Remove(local)
	if err := os.Symlink("nowhere", local); err != nil {
		t.Fatal(err)
	}
	if f, _, _, err := p.lib.ForExec("", p.dir, p.trust); err == nil {
		t.Errorf("a dangling local policy is skipped for %v", f)
	}
}

func TestARootOwnedNameWins(t *testing.T) {
	p := newProject(t, "")
	write(t, filepath.Join(p.lib.Root, "pypi.yaml"), "description: ours")
	write(t, filepath.Join(p.lib.User, "pypi.yaml"), "description: mine")
	f, err := p.lib.Find("pypi", p.dir)
	if err != nil || f.Kind != Root {
		t.Fatalf("got %+v, %v", f, err)
	}
	if want := []string{filepath.Join(p.lib.User, "pypi.yaml"), "preset pypi"}; !slices.Equal(f.Shadowed, want) {
		t.Errorf("shadowed %v, want %v", f.Shadowed, want)
	}
	doc, err := p.lib.Open(f)
	if err != nil || !doc.Closed || doc.Description != "ours" {
		t.Errorf("got %+v, %v", doc, err)
	}
	var listed []string
	for _, l := range ListNames(p.lib) {
		listed = append(listed, l.Name)
		if l.Name == "github" && !strings.Contains(l.Problem, "persistence") {
			t.Errorf("github is listed as %+v", l)
		}
	}
	want := []string{"crates", "debian", "github", "github-read", "goproxy", "maven", "npm", "offline", "pypi", "workspace"}
	if !slices.Equal(listed, want) {
		t.Errorf("listed %v", listed)
	}
}

func TestS07_NamesAndFiles(t *testing.T) {
	p := newProject(t, "")
	for _, name := range []string{"..", "../corp", "a/../../x", "Corp", ".x", "x\x00y", "-x", strings.Repeat("a", 65), "default.yaml/"} {
		if doc, err := (Library{Root: p.lib.Root}).Load(name); err == nil {
			t.Errorf("the daemon loads %q as %+v", name, doc.Ref)
		}
	}
	// The daemon opens nothing of a user's, even if it is told where that is.
	write(t, filepath.Join(p.lib.User, "mine.yaml"), "")
	if _, err := p.lib.Load("mine"); err == nil {
		t.Error("the daemon loads a user's policy by name")
	}
}

func TestS07_ExtendingTheOperatorsPolicyNamesBothLines(t *testing.T) {
	p := newProject(t, "description: x\nextends: [corp]\n")
	write(t, filepath.Join(p.lib.Root, "corp.yaml"), corp)
	_, _, err := p.lib.Flatten(Found{Kind: File, Path: filepath.Join(p.dir, LocalName), Label: "./" + LocalName})
	if err == nil || !asErrors(t, err).Has("policy_closed") {
		t.Fatalf("got %v", err)
	}
	for _, line := range []string{"./.omnijail.yaml:2", filepath.Join(p.lib.Root, "corp.yaml") + ":1"} {
		if !strings.Contains(err.Error(), line) {
			t.Errorf("%q does not name %s", err, line)
		}
	}
}

func TestS07_ARootOwnedPolicyThatOthersCouldChange(t *testing.T) {
	p := newProject(t, "")
	write(t, filepath.Join(p.lib.Root, "corp.yaml"), corp)
	lib := Library{Root: p.lib.Root, Owned: func(string) error { return errors.New("may be written by others than root") }}
	if _, err := lib.Load("corp"); err == nil {
		t.Error("loaded without asking who could change it")
	}
}

// A policy file that is no file must not hang or be read.
func TestPolicyFileKinds(t *testing.T) {
	p := newProject(t, "")
	local := filepath.Join(p.dir, LocalName)
	for name, create := range map[string]func() error{
		"fifo":      func() error { return syscall.Mkfifo(local, 0o644) },
		"directory": func() error { return os.Mkdir(local, 0o755) },
		"device":    func() error { return os.Symlink("/dev/zero", local) },
		"huge":      func() error { return os.WriteFile(local, []byte(strings.Repeat("# x\n", maxBytes/4+1)), 0o644) },
	} {
		os.RemoveAll(local)
		if err := create(); err != nil {
			t.Fatal(err)
		}
		if err := p.exec(""); err == nil {
			t.Errorf("a %s is a policy", name)
		}
	}
}

// The files that the client sends are those that were read.
func TestFlatKeepsWhereItComesFrom(t *testing.T) {
	p := newProject(t, "extends: [base]\nread_paths: [lib]\negress_rules: [GET b.example.com]\n")
	write(t, filepath.Join(p.lib.User, "base.yaml"), "egress_rules: [GET a.example.com]\nread_paths: [shared]\n")
	f, err := p.lib.Find("", p.dir)
	if err != nil {
		t.Fatal(err)
	}
	flat, doc, err := p.lib.Flatten(f)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(p.dir, LocalName), filepath.Join(p.lib.User, "base.yaml")}
	if !slices.Equal(flat.Files, files) || flat.Path != files[0] || doc.Ref.Digest != flat.Digest {
		t.Errorf("files %v digest %s, %s", flat.Files, flat.Digest, doc.Ref.Digest)
	}
	for i, want := range []string{files[1] + ":1", "./.omnijail.yaml:3"} {
		if doc.Rules[i].Origin != want {
			t.Errorf("rule %d is from %s, want %s", i, doc.Rules[i].Origin, want)
		}
	}
	// A file's relative path is the file's; a named policy's is the request's.
	if doc.Read[0].Text != "shared" || doc.Read[1].Text != filepath.Join(p.dir, "lib") {
		t.Errorf("read %v", doc.Read)
	}
}
