package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// broad are folders that hold what belongs to no one task. A leading ~ is the
// caller's home; the home itself is never granted.
var broad = []string{
	"/home", "/root", "/Users", "/var", "/var/lib", "/var/log", "/srv", "/mnt", "/media", "/data", "/boot",
	"~/.config", "~/.local", "~/.local/share", "~/.local/state", "~/.mozilla", "~/.thunderbird", "~/Documents", "~/Library",
}

// runOutside are folders from which programs outside of jails run, build or load what
// a command wrote there.
var runOutside = []string{
	"~/bin", "~/.local/bin", "~/.cargo", "~/.rustup", "~/go", "~/.npm", "~/.nvm", "~/.pyenv", "~/.asdf", "~/.sdkman", "~/.m2", "~/.gradle",
	"~/.cache", "~/.local/share/mise", "~/.local/share/uv", "~/.local/share/pnpm", "~/.nuget", "~/.ivy2", "~/.gem", "~/.bun", "~/.deno",
}

// warnings say which lines give more than a task needs: what can be read can be sent
// to each host that a rule allows, and what can be written is used outside. A warning
// refuses nothing.
func (v *view) warnings(grants []jail.Grant) (out []string) {
	for _, g := range grants {
		text := ""
		switch {
		case g.Socket || g.Path == v.req.Cwd:
			continue
		case keepsCredentials(g.Path, v.home):
			text = "credentials are kept there: let credential_proxy attach them outside of the jail"
		case slices.ContainsFunc(v.placed(broad), func(p string) bool { return g.Path == p }):
			text = "that holds far more than one task needs: name the folders of this one"
		case g.Write && slices.ContainsFunc(v.placed(runOutside), func(p string) bool { return jail.Within(p, g.Path) || jail.Within(g.Path, p) }):
			text = "your programs outside run or build from what the command writes there: leave it to the jail's own cache"
		default:
			continue
		}
		verb := map[bool]string{false: "read", true: "write"}[g.Write]
		out = append(out, fmt.Sprintf("%s: %s %s: %s", g.Origin, verb, g.Path, text))
	}
	return out
}

// asked leaves those of the warnings that whoever asks for the jail can act on: of an
// operator's policy, what they added to it. The operator is told by policy check.
func (d *Document) asked(warnings []string) []string {
	if d.Ref.Own {
		return warnings
	}
	return slices.DeleteFunc(warnings, func(w string) bool { return !strings.HasPrefix(w, "--") })
}

// placed makes the names of a list paths.
func (v *view) placed(list []string) (out []string) {
	for _, p := range list {
		if below, ok := strings.CutPrefix(p, "~/"); ok {
			p = filepath.Join(v.home, below)
		}
		out = append(out, p)
	}
	return out
}

// keepsCredentials reports whether a grant is one of files that log tools in. Only
// what lies in the home, and the name itself elsewhere, says so by its name: a project
// may be called like a tool.
func keepsCredentials(p, home string) bool {
	name := filepath.Base(p)
	if name == "omnijail" || name == ".config" || name == ".local" {
		return false
	}
	if HoldsCredentials("/" + name) {
		return true
	}
	below, ok := strings.CutPrefix(p, home+"/")
	return ok && strings.HasPrefix(below, ".") && HoldsCredentials("/"+below)
}
