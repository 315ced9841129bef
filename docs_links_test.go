package omnijail

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A link within the documentation leads to a file that is there, and its fragment
// to a heading of that file.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	links := 0
	walk(t, func(path, text string) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			name, fragment, _ := strings.Cut(m[1], "#")
			target := path
			if name != "" {
				target = filepath.Join(filepath.Dir(path), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", path, err)
			} else if fragment != "" && !headings(readDoc(t, target))[fragment] {
				t.Errorf("%s: %s has no heading #%s", path, target, fragment)
			}
		}
	}, ".md")
	if links < 30 {
		t.Errorf("looked at %d links only", links)
	}
}

// headings are the fragments that lead into a page, as GitHub makes them.
func headings(page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		plain := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out[strings.ReplaceAll(plain, " ", "-")] = true
	}
	return out
}

// Each decision has a number of its own, which its title says as well.
func TestDecisionsAreNumbered(t *testing.T) {
	files, err := filepath.Glob("docs/adr/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	had := map[string]string{}
	for _, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		if other := had[number]; other != "" {
			t.Errorf("%s and %s have one number", other, file)
		}
		had[number] = file
		if !strings.HasPrefix(readDoc(t, file), "# "+number+" ") {
			t.Errorf("%s: its title does not begin with its number", file)
		}
	}
}
