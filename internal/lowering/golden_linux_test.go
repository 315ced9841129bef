package lowering

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/policy"
)

var update = flag.Bool("update", false, "rewrite testdata/*.txtar from what comes out")

// TestGolden shows one policy and all that becomes of it side by side, for a
// reviewer to read: the files of the workspace, the policy in it, and what each
// step makes of it. /h stands for the directory with the user's files.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d goldens, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			comment, given, _ := strings.Cut(string(text), "-- tree --\n")
			tree, given, ok := strings.Cut(given, "-- policy.yaml --\n")
			rules, _, _ := strings.Cut(given, "-- spec --\n")
			if !ok {
				t.Fatalf("%s has no tree or no policy.yaml", file)
			}
			got := comment + "-- tree --\n" + tree + "-- policy.yaml --\n" + rules + lowerings(t, strings.Fields(tree), rules)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("got:\n%s\nwant:\n%s", got, text)
			}
		})
	}
}

// lowerings lowers a policy that lies in the workspace /h/w as a client sends it.
func lowerings(t *testing.T, tree []string, rules string) string {
	t.Helper()
	h := newHouse(t)
	h.build(t, append(tree, "w/policy.yaml", "home/.profile")...)
	path := h.path("w/policy.yaml")
	if err := os.WriteFile(path, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	flat, _, err := policy.Library{}.Flatten(policy.Found{Kind: policy.File, Path: path, Label: "policy.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := flat.Document()
	if err != nil {
		t.Fatal(err)
	}
	l, err := h.lower(t, doc, h.path("w"))
	if err != nil {
		return strings.ReplaceAll("-- spec --\nrefused: "+err.Error()+"\n", h.dir, "/h")
	}
	out := "-- spec --\n" + l.specLines() + "-- plan --\n" + l.planLines() +
		"-- bwrap --\n" + options(l.bwrap) + "-- reap --\n" + strings.Join(l.reaper.Args()[3:], " ") + "\n-- wall --\n" + l.wallLines()
	return strings.ReplaceAll(out, h.dir, "/h")
}

func (l *lowered) specLines() string {
	var b strings.Builder
	s := l.spec
	fmt.Fprintf(&b, "backends %v needs %v weaken %v\n", s.Backends, s.Needs, s.Weaken)
	for _, g := range s.View.Grants {
		fmt.Fprintf(&b, "grant %s write %v <- %s\n", g.Path, g.Write, g.Origin)
	}
	for _, m := range s.View.Masks {
		fmt.Fprintf(&b, "mask %s <- %s\n", m.Path, m.Origin)
	}
	for _, p := range s.View.Pins {
		fmt.Fprintf(&b, "pin %s <- %s\n", p.Path, p.Origin)
	}
	for _, r := range s.Rules {
		fmt.Fprintf(&b, "rule %s\n", r)
	}
	for _, m := range s.OCI.Mounts {
		fmt.Fprintf(&b, "mount %s %s from %s %v\n", m.Type, m.Destination, m.Source, m.Options)
	}
	fmt.Fprintf(&b, "masked %v\nread-only %v\n", s.OCI.Linux.MaskedPaths, s.OCI.Linux.ReadonlyPaths)
	return b.String()
}

// planLines leaves out what every jail has alike.
func (l *lowered) planLines() string {
	var b strings.Builder
	for _, s := range l.plan.Steps {
		if line := s.String(); !strings.Contains(line, " /dev") {
			b.WriteString(line + "\n")
		}
	}
	for _, m := range l.plan.Mounts {
		fmt.Fprintf(&b, "mount %s at %s\n", m.Source, m.Dest)
	}
	return b.String()
}

// options puts each option of bwrap's on a line of its own.
func options(args []string) string {
	return strings.ReplaceAll(strings.Join(args, " "), " --", "\n--") + "\n"
}

func (l *lowered) wallLines() string {
	var b strings.Builder
	for _, p := range l.places {
		var words []string
		for _, w := range []struct {
			right child.Rights
			word  string
		}{
			{child.PlaceList, "list"}, {child.PlaceRead, "read"}, {child.PlaceExecute, "execute"},
			{child.PlaceUse, "use"}, {child.PlaceChange, "change"},
		} {
			if p.Rights&w.right != 0 {
				words = append(words, w.word)
			}
		}
		file := ""
		if p.File {
			file = " (a file)"
		}
		fmt.Fprintf(&b, "%s %s%s\n", p.Path, strings.Join(words, "+"), file)
	}
	return b.String()
}
