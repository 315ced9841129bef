package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// project is a directory that rules itself, a home and the library of its user.
type project struct {
	dir, home string
	lib       Library
	trust     Trust
}

func newProject(t *testing.T, policy string) project {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := project{dir: filepath.Join(root, "app"), home: filepath.Join(root, "home")}
	p.lib = Library{Root: filepath.Join(root, "etc"), User: UserDir(p.home)}
	p.trust = Trust{TrustPath(p.home)}
	for _, d := range []string{p.dir, p.lib.Root, p.lib.User} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if policy != "" {
		write(t, filepath.Join(p.dir, LocalName), policy)
	}
	return p
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p project) exec(arg string) error {
	_, _, _, err := p.lib.ForExec(arg, p.dir, p.trust)
	return err
}

func (p project) record(t *testing.T, arg string) {
	t.Helper()
	f, err := p.lib.Find(arg, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	flat, _, err := p.lib.Flatten(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.trust.Record(f, flat, time.Date(2026, 5, 12, 8, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
}

const local = "write_paths: [.]\negress_rules: [GET api.github.com/**, POST github.com/**]\n" +
	"credential_proxy: [{type: gh_basic, source: {command: gh auth token}}]\n"

func TestS03_APolicyBelowCwdNeedsTrustHoweverItIsNamed(t *testing.T) {
	p := newProject(t, local)
	link := filepath.Join(filepath.Dir(p.dir), "elsewhere.yaml")
	if err := os.Symlink(filepath.Join(p.dir, LocalName), link); err != nil {
		t.Fatal(err)
	}
	spellings := []string{"", ".omnijail.yaml", "./.omnijail.yaml", filepath.Join(p.dir, LocalName), "../app/.omnijail.yaml", link}
	for _, arg := range spellings {
		var u *Untrusted
		if err := p.exec(arg); !errors.As(err, &u) {
			t.Errorf("--policy %q: got %v, want Untrusted", arg, err)
		}
	}
	p.record(t, "")
	// Through the link "." is another directory, so that is another policy.
	for _, arg := range spellings[:len(spellings)-1] {
		if err := p.exec(arg); err != nil {
			t.Errorf("trusted, --policy %q: %v", arg, err)
		}
	}
	write(t, filepath.Join(p.dir, LocalName), local+"env: {A: b}\n")
	if err := p.exec(link); err == nil {
		t.Error("a changed policy is obeyed through a link")
	}
}

// What a trusted file extends is part of what was trusted.
func TestS03_WhatAPolicyExtendsIsInTheDigest(t *testing.T) {
	p := newProject(t, "extends: [base]\n")
	base := filepath.Join(p.lib.User, "base.yaml")
	write(t, base, "description: x\n")
	p.record(t, "")
	if err := p.exec(""); err != nil {
		t.Fatal(err)
	}
	write(t, base, "egress_rules: [\"* evil.example.com/**\"]\n")
	var u *Untrusted
	if err := p.exec(""); !errors.As(err, &u) {
		t.Errorf("a changed base is obeyed: %v", err)
	}
}

func TestTrustIgnoresWhatSaysTheSame(t *testing.T) {
	p := newProject(t, local)
	p.record(t, "")
	write(t, filepath.Join(p.dir, LocalName), "# a comment\n\n"+local)
	if err := p.exec(""); err != nil {
		t.Errorf("a comment breaks trust: %v", err)
	}
}

func TestText6(t *testing.T) {
	p := newProject(t, local)
	for _, want := range []string{
		`./.omnijail.yaml is new: it would write to ".", reach 2 hosts, run "gh auth token" outside the jail`,
		`./.omnijail.yaml has changed since 12 May 2026: it would write to "/tmp/x"`,
	} {
		err := p.exec("")
		var u *Untrusted
		if !errors.As(err, &u) || u.Error() != want || u.Fix() != "read it, then: omnijailctl policy trust .omnijail.yaml" {
			t.Errorf("got  %v\nwant %v", err, want)
		}
		p.record(t, "")
		write(t, filepath.Join(p.dir, LocalName), "write_paths: [/tmp/x]\n")
	}
}

// The question that a person answers cannot be dressed up by the file.
func TestS24_PolicyTextCannotSteerATerminal(t *testing.T) {
	for _, bad := range []string{"\u202e", "\x1b[2J", "\u200b", "\x07"} {
		for _, yaml := range []string{
			`write_paths: ["/tmp/` + bad + `"]`, `description: "` + bad + `"`, `"` + bad + `": 1`,
			`egress_rules: [{host: a.example.com, query: {"` + bad + `": x}}]`,
		} {
			_, err := tryInline(yaml)
			if err == nil {
				t.Errorf("%q is accepted", yaml)
			} else if strings.Contains(err.Error(), bad) {
				t.Errorf("%q comes back raw: %q", yaml, err)
			}
		}
	}
	doc := inline(t, `env: {A: "x\e[2J"}`)
	if strings.Contains(Show(doc, "/"), "\x1b") {
		t.Error("show prints an escape sequence of a value")
	}
}

func TestTrustStoreIsTheUsersAlone(t *testing.T) {
	p := newProject(t, local)
	p.record(t, "")
	st, err := os.Stat(p.trust.Path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", st.Mode(), err)
	}
	for name, spoil := range map[string]func() error{
		"writable by others": func() error { return os.Chmod(p.trust.Path, 0o666) },
		"damaged":            func() error { return os.WriteFile(p.trust.Path, []byte("{"), 0o600) },
		"null":               func() error { return os.WriteFile(p.trust.Path, []byte("null"), 0o600) },
		"a link": func() error {
			return errors.Join(os.Rename(p.trust.Path, p.trust.Path+".x"), os.Symlink(p.trust.Path+".x", p.trust.Path))
		},
	} {
		os.Remove(p.trust.Path)
		p.record(t, "")
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if p.exec("") == nil {
			t.Errorf("a store that is %s is believed", name)
		}
	}
	left, err := filepath.Glob(filepath.Dir(p.trust.Path) + "/.trust-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
