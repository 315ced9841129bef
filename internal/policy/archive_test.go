package policy

import (
	"os"
	"strings"
	"testing"
)

// archive is a txtar file: a comment, and files that begin with "-- NAME --".
type archive struct {
	comment string
	files   []archived
}

type archived struct{ name, text string }

func readArchive(t *testing.T, path string) *archive {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{}
	for line := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if name, ok2 := strings.CutSuffix(name, " --"); ok && ok2 {
			a.files = append(a.files, archived{name: name})
		} else if len(a.files) == 0 {
			a.comment += line
		} else {
			a.files[len(a.files)-1].text += line
		}
	}
	if len(a.files) == 0 || a.files[len(a.files)-1].name != "want" {
		t.Fatalf("%s: the last file must be want", path)
	}
	return a
}

func (a *archive) write(t *testing.T, path string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(a.comment)
	for _, f := range a.files {
		b.WriteString("-- " + f.name + " --\n" + f.text)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
