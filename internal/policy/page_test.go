package policy

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/jail"
)

// below returns what stands below a heading of docs/policy.md, up to the next
// of the same depth.
func below(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/policy.md has no heading %q", heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// firstCells are the words in the first cells of a section's tables.
func firstCells(text string) map[string]bool {
	words := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*) \|`).FindAllStringSubmatch(text, -1) {
		for _, w := range regexp.MustCompile("`([a-z0-9_]+)").FindAllStringSubmatch(row[1], -1) {
			words[w[1]] = true
		}
	}
	return words
}

// The page has a row for each word that this build knows.
func TestThePageNamesEveryWord(t *testing.T) {
	var rule egress.Rule
	var binding creds.Binding
	var given []string
	for _, w := range weakenings {
		given = append(given, string(w))
	}
	for heading, words := range map[string][]string{
		"Keys":        slices.Collect(maps.Keys(keys)),
		"Rules":       slices.Collect(maps.Keys(ruleKeys(&rule))),
		"Credentials": slices.Concat(credentialTypes, slices.DeleteFunc(slices.Collect(maps.Keys(bindingKeys(&binding))), saidWithTypes)),
		"Weakenings":  given,
	} {
		rows := firstCells(below(t, heading))
		for _, w := range words {
			if !rows[w] {
				t.Errorf("docs/policy.md, %s: no row for %s", heading, w)
			}
		}
	}
}

// saidWithTypes are the keys that the table of types explains.
func saidWithTypes(key string) bool {
	return slices.Contains([]string{"type", "username", "header", "prefix"}, key)
}

// What the page calls not built is what a policy is refused for, and the other
// way round.
func TestThePageNamesWhatIsNotBuilt(t *testing.T) {
	text := below(t, "Not in this build")
	for _, words := range [][]string{later, credentialTypesLater, backendsLater} {
		for _, w := range words {
			if !regexp.MustCompile("[` ]" + w + "[` ]").MatchString(text) {
				t.Errorf("docs/policy.md does not say that %s is not built", w)
			}
		}
	}
	_, row, _ := strings.Cut(text, "| `weaken` | `")
	row, _, _ = strings.Cut(row, "`")
	var want []string
	for _, w := range jail.Weakenings {
		if !slices.Contains(weakenings, w) {
			want = append(want, string(w))
		}
	}
	if said := strings.Fields(row); !slices.Equal(said, want) {
		t.Errorf("the page says that %v are not built, and %v are not", said, want)
	}
	if _, row, found := strings.Cut(text, "| a rule | `"); found {
		t.Errorf("every key of a rule is built, and the page lists %s", strings.SplitN(row, "`", 2)[0])
	}
}
