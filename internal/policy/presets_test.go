package policy

import (
	"errors"
	"strings"
	"testing"
)

func TestPresetsCompile(t *testing.T) {
	for _, name := range Presets() {
		doc, err := Preset(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		spec, err := Compile(doc, request(), facts())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if doc.Closed || spec.Policy.Name != name || spec.Policy.Origin != "preset" || len(spec.Policy.Digest) != 64 {
			t.Errorf("%s: closed %v, ref %+v", name, doc.Closed, spec.Policy)
		}
		if len(spec.Weaken) > 0 {
			t.Errorf("%s gives safety away: %v", name, spec.Weaken)
		}
	}
}

func TestGithubPresetNamesWhatItLacks(t *testing.T) {
	_, err := Preset("github")
	var es Errors
	if !errors.As(err, &es) || !es.Has("not_built") || !strings.Contains(err.Error(), "persistence") {
		t.Errorf("got %v, want a refusal that names the deny pack", err)
	}
}
