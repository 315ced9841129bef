package scout

import (
	"path/filepath"
	"strings"

	"github.com/omnijail/omnijail/internal/child"
)

// toolchain is a place where an installer keeps programs, and how much of it a
// program there needs. Nothing in these places is a secret: what is beside them
// (~/.cargo/credentials.toml, ~/.config/mise) is not listed.
type toolchain struct {
	home string // below the caller's home, or absolute
	take int    // the root is home and so many names below it
	also string // needed too where it exists, below the caller's home; * is the program's name
}

// toolchains in the order in which they are asked. A root holds the links by which
// its versions are called too: current, 20, cpython-3.12.
var toolchains = []toolchain{
	{home: ".pyenv/versions", take: 1},
	{home: ".pyenv"}, // a shim runs pyenv, which looks at every version
	{home: ".nvm/versions/node", take: 1},
	{home: ".nvm/versions/io.js", take: 1},
	{home: ".config/nvm/versions/node", take: 1},
	{home: ".local/share/uv/python"},
	{home: ".local/share/uv/tools", take: 1},
	{home: ".local/bin/uv", also: ".local/share/uv/python"},
	{home: ".local/bin/uvx", also: ".local/share/uv/python"},
	{home: ".asdf/installs", take: 1},
	{home: ".asdf", also: ".tool-versions"},
	{home: ".local/share/mise/installs", take: 1},
	{home: ".local/share/mise"},
	{home: ".local/bin/mise", also: ".local/share/mise"},
	{home: ".rustup/toolchains", take: 1},
	{home: ".cargo/bin", also: ".rustup"}, // rustup's proxies look for their toolchain there
	{home: ".sdkman/candidates", take: 1},
	{home: "go/bin", also: "sdk/*"}, // go1.22 runs what it downloaded
	{home: "sdk", take: 1},
	{home: "/opt", take: 1},
}

// under returns where t lies for a caller with the given home directory.
func (t toolchain) under(home string) string {
	if filepath.IsAbs(t.home) {
		return t.home
	}
	return filepath.Join(home, t.home)
}

// root returns what a program at the canonical path p needs of the toolchain,
// whose canonical place is at; ok is false when p lies elsewhere.
func (t toolchain) root(at, p string) (root string, ok bool) {
	if !child.Within(at, p) {
		return "", false
	}
	root = at
	rest := strings.Split(strings.TrimPrefix(p[len(at):], "/"), "/")
	for _, name := range rest[:min(t.take, len(rest))] {
		root = filepath.Join(root, name)
	}
	return root, t.take == 0 || root != at
}

// beside returns what else a program called name needs; empty for nothing.
func (t toolchain) beside(home, name string) string {
	if t.also == "" {
		return ""
	}
	return filepath.Join(home, strings.ReplaceAll(t.also, "*", name))
}
