package policy

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// controlNames are what programs outside of a jail run, or take orders from, by
// themselves: at the next shell, cd, or opened folder. Where they are visible in a
// writable tree they are never writable; at the top of a grant they are hidden
// unless the policy shows them.
var controlNames = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc",
	".login", ".logout", ".inputrc", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
	".vimrc", ".exrc", ".nvimrc", ".tmux.conf", ".gdbinit", ".lldbinit", ".gitconfig",

	".envrc", ".vscode", ".idea", ".mcp.json", ".claude", ".codex", ".cursor", ".omnijail.yaml",
}

// The bounds of the scan for what to protect: entries of a writable grant, and
// directories below each other.
const (
	scanMax   = 1_000_000
	scanDepth = 64
)

// maxProtect bounds the items of protect.
const maxProtect = 256

// protectItems reads protect: paths, in which a component may be a glob and "**"
// stands for any number of them, or globs on one name at any depth.
func (d *decoder) protectItems(key string, n *node) {
	for i, item := range d.paths(key, n) {
		k := index(key, i)
		for part := range strings.SplitSeq(item.Text, "/") {
			if _, err := path.Match(part, ""); err != nil {
				d.errorf(item.At, k, "%.64q is not a glob", item.Text)
				break
			}
		}
		d.doc.Protect = append(d.doc.Protect, item)
	}
	if len(d.doc.Protect) > maxProtect {
		d.errorf(n.at, key, "has more than %d items", maxProtect)
	}
}

// protectScan reads protect_scan.
func (d *decoder) protectScan(key string, n *node) {
	d.mapping(key, n, map[string]keyFunc{
		"max":   func(d *decoder, k string, n *node) { d.doc.ScanMax = int(d.integer(k, n, 1, 100_000_000)) },
		"depth": func(d *decoder, k string, n *node) { d.doc.ScanDepth = int(d.integer(k, n, 1, 1024)) },
	}, nil)
}

// patterns returns what protect names, as the scout takes it.
func (v *view) patterns() (out []jail.Protect) {
	for i, item := range v.doc.Protect {
		pattern := item.Text
		switch {
		case strings.HasPrefix(pattern, "~"):
			if pattern = v.path(item, index("protect", i)); pattern == "" {
				continue
			}
		case strings.HasPrefix(pattern, "/"):
			pattern = filepath.Clean(pattern)
		case strings.Contains(pattern, "/"):
			pattern = filepath.Join(literal(v.req.Cwd), pattern)
		}
		out = append(out, jail.Protect{Pattern: pattern, Origin: item.At.String()})
	}
	return out
}

// joinProtect makes a path of protect absolute against dir. A name stays one.
func joinProtect(n *node, dir string) {
	if n != nil && strings.Contains(n.text, "/") {
		joinPath(n, literal(dir))
	}
}

// literal makes a path a glob that means it alone.
func literal(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}

// shownProtect is an item as policy show has it.
func shownProtect(text, cwd string) string {
	if strings.Contains(text, "/") && filepath.IsAbs(text) {
		return shown(text, cwd)
	}
	return text
}
