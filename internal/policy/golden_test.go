package policy

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

var update = flag.Bool("update", false, "rewrite the wanted part of testdata/*.txtar")

// A golden holds policies under their names (policy.yaml is the one that runs,
// others are the user's named ones), and what comes of it: the jail in one line
// per fact, or every error.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("found %d goldens: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar := readArchive(t, file)
			last := len(ar.files) - 1
			got := compileFiles(t, ar.files[:last])
			if *update {
				ar.files[last].text = got
				ar.write(t, file)
			}
			if want := ar.files[last].text; got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// compileFiles runs the client's and the daemon's half.
func compileFiles(t *testing.T, files []archived) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lib := Library{User: dir}
	req := request()
	path := filepath.Join(dir, "policy.yaml")
	flat, read, err := lib.Flatten(Found{Kind: File, Path: path, Label: "policy.yaml"})
	var spec *jail.Spec
	if err == nil {
		flat.Files, flat.Path = nil, "" // temporary
		var doc *Document
		if doc, err = flat.Document(); err == nil {
			spec, err = Compile(doc, req, facts())
		}
	}
	out := ""
	if err == nil {
		out = summary(spec) + notes(read)
	} else {
		out = err.Error() + "\n"
	}
	return strings.ReplaceAll(out, dir, "DIR")
}

func notes(d *Document) string {
	var b strings.Builder
	for _, n := range d.Notes {
		fmt.Fprintln(&b, "note", n)
	}
	return b.String()
}

// summary is a Spec in one line per fact, in a fixed order.
func summary(s *jail.Spec) string {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("backends %v needs %v weaken %v", s.Backends, s.Needs, s.Weaken)
	for _, g := range s.View.Grants {
		line("%s %s <- %s", map[bool]string{true: "write", false: "read"}[g.Write], g.Path, g.Origin)
	}
	for _, m := range s.View.Masks {
		line("mask %s <- %s", m.Path, m.Origin)
	}
	if extra := s.View.Visible[len(visibleDot)+len(readOnlyDot):]; len(extra) > 0 {
		line("visible %v", extra)
	}
	for _, pr := range s.View.Protect {
		line("protect %s <- %s", pr.Pattern, pr.Origin)
	}
	if s.View.GitConfig || s.View.ScanMax != scanMax || s.View.ScanDepth != scanDepth {
		line("git config writable %v, scan max %d depth %d", s.View.GitConfig, s.View.ScanMax, s.View.ScanDepth)
	}
	line("hidden max %d, cwd writable %v", s.View.HiddenMax, s.View.CwdWrite)
	for _, r := range s.Rules {
		line("rule %s <- %s", r, r.Origin)
	}
	for _, c := range s.Bindings {
		line("credential %s %s foreign=%s optional=%v <- %s", c.Name, c.Type, c.Foreign, c.Optional, c.Origin)
		for _, target := range c.Targets {
			line("  to %s%s as %s", target.Authority, target.Path, target.Scheme)
		}
		for _, src := range c.Sources {
			line("  from %s", showSource(src))
		}
		for _, e := range c.Env {
			line("  env %s %s", e.Name, e.Fixed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env.Set)) {
		line("set %s=%s", name, s.Env.Set[name])
	}
	line("pass %v", s.Env.Passthrough[len(contextNames):])
	line("groups %v timeout %v misuse %s body %v", s.OCI.Process.User.AdditionalGids, s.Limits.Timeout, s.OnMisuse, s.BodyCheck)
	return b.String()
}

// The whole OCI part of a plain jail, for a reviewer to read.
func TestGoldenOCI(t *testing.T) {
	req := request()
	req.TTY = true
	spec, err := Compile(inline(t, "groups: [video]"), req, facts())
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(spec.OCI, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/oci.json"
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != string(got)+"\n" {
		t.Errorf("got:\n%s\n%v", got, err)
	}
}
