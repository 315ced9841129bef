package policy

import (
	"os"
	"path/filepath"
	"testing"
)

// Every example loads and compiles as what it says it is.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	for _, file := range files {
		dir := t.TempDir()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, filepath.Base(file)), string(text))
		name := filepath.Base(file[:len(file)-len(".yaml")])
		doc, err := (Library{Root: dir}).Load(name)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if _, err := Compile(doc, request(), facts()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		// As a user's own file only what is not the operator's works.
		doc, err = tryInline(string(text))
		if err == nil {
			_, err = Compile(doc, request(), facts())
		}
		if (err == nil) != (name != "operator") {
			t.Errorf("%s as a user's own: %v", file, err)
		}
	}
}
