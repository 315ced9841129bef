package server

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
)

// The document is read by its indentation, which its layout keeps: paths stand at
// two blanks, methods and schemas' names at four.
var (
	documentPath   = regexp.MustCompile(`^  (/\S+):$`)
	documentMethod = regexp.MustCompile(`^    (get|put|post|delete|patch):$`)
	schemaName     = regexp.MustCompile(`^    (\w+):$`)
	propertyName   = regexp.MustCompile(`^        (\w+):( |$)`)
)

func TestDocumentAndRoutesListTheSameOperations(t *testing.T) {
	var documented []string
	path := ""
	for line := range strings.Lines(section(t, "paths")) {
		line = strings.TrimRight(line, "\n")
		if m := documentPath.FindStringSubmatch(line); m != nil {
			path = m[1]
		}
		if m := documentMethod.FindStringSubmatch(line); m != nil {
			documented = append(documented, strings.ToUpper(m[1])+" "+path)
		}
	}
	slices.Sort(documented)
	if served := slices.Sorted(maps.Keys(routes)); !slices.Equal(documented, served) {
		t.Errorf("documented:\n%s\nserved:\n%s", strings.Join(documented, "\n"), strings.Join(served, "\n"))
	}
}

func TestDocumentAndTypesHaveTheSameFields(t *testing.T) {
	documented := schemas(t)
	for _, v := range []any{
		api.Error{}, api.Position{}, api.Version{}, api.Doctor{}, api.ToolReport{}, api.BackendReport{}, api.Fact{},
		api.ExecRequest{}, api.Add{}, api.Size{}, api.Event{}, api.Started{}, api.Binding{}, api.Denied{},
		api.Note{}, api.Exit{}, api.Control{}, api.Jail{}, api.Cache{}, api.CachesRemoved{}, api.Policy{}, api.PolicyCheck{}, api.PolicyTest{},
		api.TestResult{}, api.Drain{}, api.CommandRequest{}, api.Signal{}, api.Detached{}, api.Suggestion{}, api.PolicyChange{}, api.PolicyChanged{}, audit.Record{},
	} {
		typ := reflect.TypeOf(v)
		var fields []string
		for i := range typ.NumField() {
			if name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); name != "-" {
				fields = append(fields, name)
			}
		}
		got := documented[typ.Name()]
		slices.Sort(fields)
		slices.Sort(got)
		if !slices.Equal(got, fields) {
			t.Errorf("%s: documented %q, the type has %q", typ.Name(), got, fields)
		}
	}
}

// schemas returns the properties of each schema of the document.
func schemas(t *testing.T) map[string][]string {
	t.Helper()
	_, text, ok := strings.Cut(section(t, "components"), "\n  schemas:\n")
	if !ok {
		t.Fatal("the document has no schemas")
	}
	out := map[string][]string{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := schemaName.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if m := propertyName.FindStringSubmatch(line); m != nil {
			out[name] = append(out[name], m[1])
		}
	}
	return out
}

// section returns one top-level key of the document.
func section(t *testing.T, key string) string {
	t.Helper()
	_, text, ok := strings.Cut(string(api.OpenAPI), "\n"+key+":\n")
	if !ok {
		t.Fatalf("the document has no %s", key)
	}
	if end := regexp.MustCompile(`(?m)^\w`).FindStringIndex(text); end != nil {
		text = text[:end[0]]
	}
	return "\n" + text
}
