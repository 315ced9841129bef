package omnijail

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// catalogued are the rows of docs/attacks.md that name tests, by what they are about.
func catalogued(t *testing.T) map[string][]string {
	t.Helper()
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	rows := map[string][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([ABGH]\d+(?:(?:–|, )[ABGH]\d+)*) \|.*\|$`).FindAllStringSubmatch(readDoc(t, "docs/attacks.md"), -1) {
		var tests []string
		for _, m := range named.FindAllStringSubmatch(row[0], -1) {
			tests = append(tests, m[1])
		}
		if len(tests) == 0 {
			continue // of what is not made here
		}
		for _, part := range strings.Split(row[1], ", ") {
			from, to, ranged := strings.Cut(part, "–")
			if !ranged {
				to = from
			}
			first, _ := strconv.Atoi(from[1:])
			last, _ := strconv.Atoi(to[1:])
			for n := first; n <= last; n++ {
				id := fmt.Sprintf("%c%02d", from[0], n)
				if rows[id] != nil {
					t.Errorf("%s has two rows", id)
				}
				rows[id] = tests
			}
		}
	}
	return rows
}

// The catalogue has every attack, behaviour, gap and hazard, each with tests that
// exist, and each attack with one of its own name.
func TestTheCatalogueIsWhole(t *testing.T) {
	exist := declaredTests(t)
	rows := catalogued(t)
	want := map[byte][][2]int{'A': {{1, 100}}, 'B': {{1, 80}, {103, 113}}, 'G': {{1, 20}}, 'H': {{1, 22}}}
	for kind, spans := range want {
		for _, span := range spans {
			for n := span[0]; n <= span[1]; n++ {
				id := fmt.Sprintf("%c%02d", kind, n)
				tests := rows[id]
				if len(tests) == 0 {
					t.Errorf("%s has no test", id)
				}
				own := kind != 'A'
				for _, name := range tests {
					own = own || strings.HasPrefix(name, "Test"+id+"_")
					if !exist[name] {
						t.Errorf("%s names %s, which is in no _test.go file", id, name)
					}
				}
				if !own && len(tests) > 0 {
					t.Errorf("%s has no test of its own name", id)
				}
			}
		}
	}
}

// Every test that is named after an attack stands in the catalogue.
func TestTheCatalogueHasEveryAttack(t *testing.T) {
	rows := catalogued(t)
	for name := range declaredTests(t) {
		m := regexp.MustCompile(`^Test(A\d{2,3})_`).FindStringSubmatch(name)
		if m != nil && !strings.Contains(strings.Join(rows[m[1]], " ")+" ", name+" ") {
			t.Errorf("%s is in no row of docs/attacks.md", name)
		}
	}
}

var declaration = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// declaredTests are the names of all tests and fuzz targets.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	exist := map[string]bool{}
	walk(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range declaration.FindAllStringSubmatch(text, -1) {
				exist[m[1]] = true
			}
		}
	}, ".go")
	return exist
}
