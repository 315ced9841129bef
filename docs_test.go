package omnijail

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/policy"
)

var yamlBlock = regexp.MustCompile("(?s)\n```yaml\n(.*?)```\n")

// examples returns the YAML blocks of a page, each in a file of its own.
func examples(t *testing.T, page string) []string {
	t.Helper()
	var files []string
	for i, block := range yamlBlock.FindAllStringSubmatch(readDoc(t, page), -1) {
		file := filepath.Join(t.TempDir(), "example.yaml")
		if err := os.WriteFile(file, []byte(block[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		t.Logf("example %d of %s", i+1, page)
	}
	if len(files) == 0 {
		t.Fatalf("%s has no examples", page)
	}
	return files
}

func readDoc(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheExampleOfTheFirstPageHolds(t *testing.T) {
	for _, file := range examples(t, "README.md") {
		if _, err := policy.Check(policy.Library{}, policy.Found{Kind: policy.File, Path: file}); err != nil {
			t.Error(err)
		}
	}
}

func TestExamplesOfThePolicyPageHold(t *testing.T) {
	for i, file := range examples(t, "docs/policy.md") {
		// As the operator's, which may say everything.
		if _, err := policy.Check(policy.Library{Root: filepath.Dir(file)}, policy.Found{Kind: policy.Root, Name: "example", Path: file}); err != nil {
			t.Errorf("example %d: %v", i+1, err)
		}
	}
}

func TestExamplesOfTheConfigurationPageHold(t *testing.T) {
	for i, file := range examples(t, "docs/configuration.md") {
		if _, err := config.Load(file, true); err != nil {
			t.Errorf("example %d: %v", i+1, err)
		}
	}
}

// The table of folders on the design page is the one that is checked.
func TestDesignNamesEveryFolder(t *testing.T) {
	page := readDoc(t, "docs/design.md")
	for folder := range table.Imports {
		short := strings.TrimPrefix(folder, "internal/egressd") // written as …/wire beside its parent
		if !strings.Contains(page, "`"+folder+"`") && !strings.Contains(page, "`…"+short+"`") && !strings.HasPrefix(folder, "cmd/") {
			t.Errorf("docs/design.md does not say what %s holds", folder)
		}
	}
}

var testName = regexp.MustCompile(`Test[AS]\d{2,3}_\w+`)

// Each promise of the threat model names the test that holds it.
func TestThreatModelNamesTestsThatExist(t *testing.T) {
	exist := declaredTests(t)
	named := testName.FindAllString(readDoc(t, "docs/threat-model.md"), -1)
	if len(named) == 0 {
		t.Fatal("the threat model names no test")
	}
	for _, name := range named {
		if !exist[name] {
			t.Errorf("docs/threat-model.md names %s, which is in no _test.go file", name)
		}
	}
}

// Each row of the promises names a test, and files that are there.
func TestThreatModelNamesFilesThatExist(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| (S\d+)\. .* \| .* \| (.*) \| (.*) \|$`).FindAllStringSubmatch(readDoc(t, "docs/threat-model.md"), -1)
	if len(rows) < 20 {
		t.Fatalf("found %d rows only", len(rows))
	}
	for _, row := range rows {
		if !testName.MatchString(row[3]) {
			t.Errorf("%s is held by no test", row[1])
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			if _, err := os.Stat(name[1]); err != nil {
				t.Errorf("%s: %v", row[1], err)
			}
		}
	}
}

// The words for what confines are used one way. "sandbox" is what other programs
// have, and the words of the policy language that hold it; "host" alone never
// means this node.
var (
	sandbox      = regexp.MustCompile(`(?i)\bsandbox(es|ed|ing)?\b`)
	notOurs      = regexp.MustCompile(`(?i)other sandbox|another sandbox|foreign sandbox|sandbox block|sandboxes? of (its|their) own|under a sandbox|"--no-sandbox"|` + "`sandbox:?`")
	hostForNode  = regexp.MustCompile(`(?i)\b(on|of|from) the host\b( system| machine| kernel|[.,;:]|$)|\bhost (system|machine|kernel|filesystem|file system)\b`)
	helpOrManual = []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "examples", "packaging", "cmd", "api/openapi.yaml"}
)

func TestWordsAreUsedOneWay(t *testing.T) {
	pages := 0
	check := func(path, text string) {
		pages++
		for i, line := range strings.Split(text, "\n") {
			if sandbox.MatchString(notOurs.ReplaceAllString(line, "")) && !strings.Contains(line, "nested_sandbox") && !isLaterVerb(line) {
				t.Errorf("%s:%d: ours is a jail: %s", path, i+1, strings.TrimSpace(line))
			}
			if hostForNode.MatchString(line) {
				t.Errorf("%s:%d: this machine is the node: %s", path, i+1, strings.TrimSpace(line))
			}
		}
	}
	walk(t, func(path, text string) {
		for _, ours := range helpOrManual {
			if (path == ours || strings.HasPrefix(path, ours+"/")) && !strings.HasSuffix(path, "_test.go") {
				check(path, text)
			}
		}
	}, ".md", ".go", ".yaml", ".8", ".py", ".service", ".socket")
	if pages < 10 {
		t.Errorf("looked at %d pages only", pages)
	}
}

// isLaterVerb knows the line that refuses "omnijailctl sandbox", a known alias.
func isLaterVerb(line string) bool { return strings.Contains(line, `"sandbox":`) }

func TestTheWordsTestSeesWhatItLooksFor(t *testing.T) {
	for line, bad := range map[string]bool{
		"the command runs in a sandbox":       true,
		"a sandboxed command":                 true,
		"weaken: [nested_sandbox]":            false,
		"a caller in another sandbox":         false,
		"a file on the host.":                 true,
		"the host kernel":                     true,
		"the Host of a request":               false,
		"the host and the port of a request,": false,
	} {
		left := notOurs.ReplaceAllString(line, "")
		got := sandbox.MatchString(left) && !strings.Contains(line, "nested_sandbox") || hostForNode.MatchString(line)
		if got != bad {
			t.Errorf("%q: found %v, want %v", line, got, bad)
		}
	}
}

// walk calls f with each file of the tree that ends in one of the extensions.
func walk(t *testing.T, f func(path, text string), extensions ...string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "dist" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		for _, ext := range extensions {
			if !d.IsDir() && strings.HasSuffix(path, ext) {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				f(path, string(text))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
