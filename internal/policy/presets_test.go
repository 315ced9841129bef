package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPresetsCompile(t *testing.T) {
	for _, name := range Presets() {
		doc, err := Preset(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		spec, err := Compile(doc, request(), facts())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if doc.Closed || spec.Policy.Name != name || spec.Policy.Origin != "preset" || len(spec.Policy.Digest) != 64 {
			t.Errorf("%s: closed %v, ref %+v", name, doc.Closed, spec.Policy)
		}
		if len(spec.Weaken) > 0 {
			t.Errorf("%s gives safety away: %v", name, spec.Weaken)
		}
	}
}

// TestA70_WhatIsShippedOpensNoKnownWayOut: no preset lets an allowed API publish,
// fetch or make keys for a jail, nor does what init proposes for a repository.
func TestA70_WhatIsShippedOpensNoKnownWayOut(t *testing.T) {
	for _, name := range Presets() {
		doc, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if notes := doc.showNotes(); len(notes) > 0 {
			t.Errorf("%s: %q", name, notes)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".git/config"), "[remote \"origin\"]\n\turl = git@github.com:acme/app.git\n")
	p, err := Propose(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "p.yaml")
	write(t, file, p.Text)
	notes, err := Check(Library{}, Found{Kind: File, Path: file})
	if err != nil || len(notes) > 0 {
		t.Errorf("proposed: %q %v\n%s", notes, err, p.Text)
	}
}

func TestGithubPresetNamesWhatItLacks(t *testing.T) {
	_, err := Preset("github")
	var es Errors
	if !errors.As(err, &es) || !es.Has("not_built") || !strings.Contains(err.Error(), "persistence") {
		t.Errorf("got %v, want a refusal that names the deny pack", err)
	}
}
