package policy

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// laterPresets names the presets that cannot be offered yet, and why.
var laterPresets = map[string]string{
	"github": `its deny pack "persistence" is not built yet; use github-read and --allow`,
}

// Presets returns the names of the built-in policies, sorted.
func Presets() []string {
	entries, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic("omnijail: internal error: the presets are not embedded: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// presetText returns a preset's YAML, false when there is none of that name.
func presetText(name string) ([]byte, bool) {
	if !ValidName(name) {
		return nil, false
	}
	text, err := presetFiles.ReadFile(path.Join("presets", name+".yaml"))
	return text, err == nil
}

// readPreset returns a preset's tree, all of it positioned at at: what a reader
// can change is the line that names the preset, not the preset.
func readPreset(name, key string, at Pos, rep *report) *node {
	text, ok := presetText(name)
	if !ok {
		e := Error{Pos: at, Key: key, Msg: "there is no preset " + quoteYAML(name)}
		if why, known := laterPresets[name]; known {
			e = Error{Pos: at, Key: key, Code: "not_built", Msg: name + " is not offered: " + why}
		} else if near := nearest(name, Presets()); near != "" {
			e.Fix = "did you mean " + near + "?"
		}
		rep.add(e)
		return nil
	}
	n := readYAML("preset "+name, text, rep)
	place(n, at)
	return n
}

// place sets the position of a whole tree.
func place(n *node, at Pos) {
	if n == nil {
		return
	}
	n.at = at
	for _, item := range n.items {
		place(item, at)
	}
	for i := range n.fields {
		n.fields[i].at = at
		place(n.fields[i].value, at)
	}
}
