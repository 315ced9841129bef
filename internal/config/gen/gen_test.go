package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCommittedReferenceIsWhatTheCodeSays(t *testing.T) {
	want, err := render("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", output))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/configuration.md is not what the comments say now: go generate ./internal/config")
	}
}

func TestEveryKeyHasItsRow(t *testing.T) {
	dir := t.TempDir()
	source := `package config
// Config is the file.
type Config struct {
	// Size bounds Name.
	Size Size ` + "`yaml:\"a_size\"`" + `
	Name, Ignored string
	Wait Duration ` + "`yaml:\"wait\"`" + ` // Wait is a | time.
	Many []Inner ` + "`yaml:\"many\"`" + `
	hidden int
}
// Inner is one of Many.
type Inner struct { Word string // words of a "kind".
}
func Default() Config { return Config{Size: 3 << 20, Wait: Duration(90 * time.Minute)} }
`
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := render(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `a_size` | size | `3MiB` | `a_size` bounds Name. |\n",
		"| `wait` | duration | `1h30m` | A \\| time. |\n",
		"| `many` | list of mapping, below |  | See the row above. |\n",
		"\n## `many[]`\n\n`many[]` is one of Many.\n",
		"| `word` | text |  | Words of a \"kind\". |\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in:\n%s", want, text[len(preface):])
		}
	}
	if strings.Contains(string(text), "hidden") {
		t.Error("a field that is no key is in the reference")
	}
}

func TestWhatTheReferenceCannotSayIsAnError(t *testing.T) {
	for name, fields := range map[string]string{
		"a type without words":  "A chan int // A is one",
		"a key without comment": "A string",
	} {
		dir := t.TempDir()
		source := "package config\ntype Config struct {\n" + fields + "\n}\nfunc Default() Config { return Config{} }\n"
		if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := render(dir); err == nil {
			t.Errorf("%s was documented", name)
		}
	}
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{720 * time.Hour: "720h", 90 * time.Minute: "1h30m", 30 * time.Second: "30s", 10 * time.Minute: "10m"} {
		if got := durationText(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
