package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/selftest"
)

// The escape suite finds no way out: as a user, under a root-owned policy that
// the user cannot change, and as root for a user.
func TestTheEscapeSuite(t *testing.T) {
	closed := "caller: [cwd, tty, timeout, write, limits]\n" + selftest.Policy("example.test")
	n := NewNode(t, Options{Policy: map[string]string{"suite": closed}})
	n.Workspace(t, Alice, nil) // the home has something in it to be seen
	for _, c := range []struct {
		name string
		uid  uint32
		args []string
		made int
	}{
		{"as a user", Alice, []string{"--upstream", "example.test"}, 650},
		{"under a root-owned policy", Alice, []string{"--policy", "suite", "--upstream", "example.test"}, 650},
		{"behind Landlock alone", Alice, []string{"--backend", "linux_landlock"}, 640},
		{"as root for a user", 0, []string{"--user", fmt.Sprint(Alice)}, 640},
	} {
		t.Run(c.name, func(t *testing.T) {
			junit := filepath.Join(n.Home(t, Alice), "report.xml")
			args := append([]string{"selftest", "--json", "--junit", junit}, c.args...)
			o := n.Run(t, Ctl{UID: c.uid, Args: args})
			var r selftest.Report
			if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil {
				t.Fatalf("%v\n%+v", err, o)
			}
			checkReport(t, r, o.Exit, c.made)
			keepReport(t, junit, c.name)
		})
	}
}

// reportsVariable names a directory for the suite's JUnit reports: CI keeps them,
// and says what is in them.
const reportsVariable = "OMNIJAIL_SELFTEST_REPORTS"

// keepReport takes a report from where the user wrote it.
func keepReport(t *testing.T, junit, name string) {
	t.Helper()
	b, err := os.ReadFile(junit)
	if err != nil || len(b) == 0 {
		t.Errorf("no JUnit report: %v", err)
	}
	os.Remove(junit)
	if dir := os.Getenv(reportsVariable); dir != "" {
		name = strings.ReplaceAll(name, " ", "-") + ".xml"
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Error(err)
		}
	}
}

func checkReport(t *testing.T, r selftest.Report, exit, made int) {
	t.Helper()
	for _, e := range r.Attempts {
		switch e.Result {
		case selftest.Succeeded:
			t.Errorf("%s: tried to %s, must: %s, but: %s", e.Name, e.Tries, e.Must, e.Detail)
		case selftest.NotRun:
			t.Logf("not run: %s: %s", e.Name, e.Detail)
		}
	}
	if r.Failed == 0 && exit != 0 {
		t.Errorf("exit %d without a failure", exit)
	}
	if r.Passed+r.Failed < made {
		t.Errorf("%d attempts were made, want at least %d", r.Passed+r.Failed, made)
	}
	for _, g := range jail.Guarantees {
		tested := false
		for _, e := range r.Attempts {
			tested = tested || e.Guarantee == g && e.Result == selftest.Refused
		}
		if !tested && g != jail.Observed {
			t.Errorf("nothing tested the guarantee %s", g)
		}
	}
}

// The suite fails where something got out, and what a policy gives no occasion to
// try is not passed.
func TestTheEscapeSuiteSeesWhatAPolicyGivesAway(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"wide": "caller: [cwd, timeout, write]\nread_paths: [/var/log]\n"}})
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"selftest", "--json", "--policy", "wide"}}).Want(t, 1)
	var r selftest.Report
	if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil {
		t.Fatal(err)
	}
	for _, e := range r.Attempts {
		switch area, _, _ := strings.Cut(e.Name, "."); {
		case e.Name == "file.see_var_log":
			if e.Result != selftest.Succeeded {
				t.Errorf("%s: %s: %s", e.Name, e.Result, e.Detail)
			}
		case e.Result == selftest.Succeeded:
			t.Errorf("%s: %s", e.Name, e.Detail)
		case (area == "http" || area == "dns" || area == "credential" || area == "tty") && e.Result != selftest.NotRun:
			t.Errorf("%s was made without the means: %s", e.Name, e.Detail)
		}
	}
}

func TestTheEscapeSuiteSaysWhyItCannotRun(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	n.Run(t, Ctl{UID: Outsider, Args: []string{"selftest"}}).Want(t, 125)
	n.Run(t, Ctl{UID: 0, Args: []string{"selftest"}}).Want(t, 64)
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"selftest", "--policy", "nosuch"}}).Want(t, 125); o.Stdout != "" {
		t.Errorf("a report of nothing: %s", o.Stdout)
	}
}
