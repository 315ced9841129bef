package selftest

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

var update = flag.Bool("update", false, "write docs/escape-suite.md")

func TestThePageIsTheSuite(t *testing.T) {
	const page = "../../docs/escape-suite.md"
	if *update {
		if err := os.WriteFile(page, []byte(Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Page() {
		t.Error("docs/escape-suite.md is not what the code says: go test ./internal/selftest -run Page -update")
	}
}

func TestAttemptsAreComplete(t *testing.T) {
	names := map[string]bool{}
	areas := map[string]bool{}
	last := ""
	for _, a := range All() {
		if names[a.Name] {
			t.Errorf("%s is there twice", a.Name)
		}
		names[a.Name] = true
		if a.Area() != last {
			if areas[a.Area()] {
				t.Errorf("%s is apart from its area", a.Name)
			}
			areas[a.Area()], last = true, a.Area()
		}
		if a.Tries == "" || a.Must == "" || a.Name != strings.ToLower(a.Name) || strings.ContainsAny(a.Name, " /-") {
			t.Errorf("%q has no proper name, or does not say what it tries and what must happen", a.Name)
		}
		if _, err := jail.ParseGuarantee(string(a.Guarantee)); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
		if (a.probe == nil) == (a.drive == nil) {
			t.Errorf("%s must be made from one side", a.Name)
		}
	}
	if len(names) < 150 {
		t.Errorf("there are only %d attempts", len(names))
	}
}

// What could not be made is never passed, in none of the forms.
func TestNotRunIsNotPassed(t *testing.T) {
	all := []Attempt{
		{Name: "a.held", Guarantee: jail.Files}, {Name: "a.out", Tries: "tried", Must: "must", Guarantee: jail.Files}, {Name: "a.none", Guarantee: jail.Syscalls},
	}
	r := report(&node{}, all, []Finding{refused("EPERM"), succeeded("got out"), notRun("no kernel")})
	if r.Passed != 1 || r.Failed != 1 || r.NotRun != 1 || r.Holds() {
		t.Errorf("%+v", r)
	}
	if empty := report(&node{}, all[:1], make([]Finding, 1)); empty.Passed != 0 || empty.NotRun != 1 {
		t.Errorf("an attempt without an end counts as %+v", empty)
	}
	var text, junit bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"files      1       1       0", "syscalls   0       0       1", "FAILED a.out", "but:   got out", "a.none: no kernel"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if err := r.WriteJUnit(&junit); err != nil {
		t.Fatal(err)
	}
	var suites junitSuites
	if err := xml.Unmarshal(junit.Bytes(), &suites); err != nil {
		t.Fatal(err)
	}
	if len(suites.Suites) != 2 || suites.Suites[0].Failures != 1 || suites.Suites[1].Skipped != 1 || suites.Suites[1].Cases[0].Skipped.Message != "no kernel" {
		t.Errorf("%s", &junit)
	}
}
