package policy

import (
	"path"
	"strings"
)

// paths reads read_paths, write_paths, mask_paths or unix_sockets.
func (d *decoder) paths(key string, n *node) []Item {
	var out []Item
	for i, item := range d.items(key, n, false) {
		k := index(key, i)
		if item.isNull() {
			d.add(Error{Pos: item.at, Key: k, Msg: "is null", Fix: `YAML reads a bare ~ as null: write "~/name"`})
			continue
		}
		s := d.str(k, item)
		if msg := checkPath(s); msg != "" {
			d.errorf(item.at, k, "%s", msg)
		} else if s != "" {
			out = append(out, Item{s, item.at})
		} else if item.kind == scalar && item.tag == tagString {
			d.errorf(item.at, k, "is empty")
		}
	}
	return out
}

// checkPath says what is wrong with a path as it is written, empty if nothing.
func checkPath(s string) string {
	switch {
	case len(s) > 4096:
		return "is longer than 4096 bytes"
	case strings.Contains(s, "$"):
		return "holds a $: variables are not expanded in a path; ~ is your home"
	case strings.HasPrefix(s, "~") && s != "~" && !strings.HasPrefix(s, "~/"):
		return "names another user's home: write the path out"
	}
	return ""
}

// allowHidden reads cwd_allow_hidden: names, or globs on one name, of dot
// entries.
func (d *decoder) allowHidden(key string, n *node) {
	for i, w := range d.words(key, n) {
		if _, err := path.Match(w.Text, ""); err != nil || strings.Contains(w.Text, "/") {
			d.errorf(w.At, index(key, i), "%.64q is not a name or a glob on one name", w.Text)
			continue
		}
		d.doc.AllowHidden = append(d.doc.AllowHidden, w)
	}
}

// hiddenScan reads cwd_hidden_scan. Of its modes this build has the default.
func (d *decoder) hiddenScan(key string, n *node) {
	d.mapping(key, n, map[string]keyFunc{
		"max": func(d *decoder, k string, n *node) { d.doc.HiddenMax = int(d.integer(k, n, 1, 10_000_000)) },
		"depth": func(d *decoder, k string, n *node) {
			if d.integer(k, n, 1, 100) > 1 {
				d.later(n.at, k+" above 1")
			}
		},
		"on_overflow": func(d *decoder, k string, n *node) {
			if d.oneOf(k, n, "error", "deny", "warn") == "warn" {
				d.later(n.at, k+": warn")
			}
		},
	}, nil)
}
