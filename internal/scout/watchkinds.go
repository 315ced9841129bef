package scout

import (
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/child"
)

// dirKind is what a directory is to a program outside that comes upon it.
type dirKind uint8

const (
	plainKind     dirKind = iota
	quietKind             // nothing in it runs, and nobody works in it
	gitKind               // a git directory: .git, of a worktree or submodule, or bare
	hooksKind             // programs of a git directory
	infoKind              // info of a git directory
	todoKind              // a rebase or sequence under way
	worktreesKind         // git directories of worktrees
	modulesKind           // git directories of submodules, at any depth
	vscodeKind
	claudeKind
	cursorKind
	codexKind
	cargoKind
	mavenKind
)

var (
	gitChildren = map[string]dirKind{
		"hooks": hooksKind, "info": infoKind, "rebase-merge": todoKind, "rebase-apply": todoKind, "sequencer": todoKind,
		"worktrees": worktreesKind, "modules": modulesKind,
	}
	plainChildren = map[string]dirKind{".git": gitKind, ".vscode": vscodeKind, ".claude": claudeKind, ".cursor": cursorKind, ".codex": codexKind, ".husky": hooksKind, ".cargo": cargoKind, ".mvn": mavenKind}
	// bulk is what git fills by the thousand.
	bulk = []string{"objects", "refs", "logs", "lfs", "rr-cache"}
	// layout are the names by which git knows a git directory, in small letters.
	layout = []string{"head", "objects", "refs", "commondir", "config"}

	controls = map[dirKind][]string{
		plainKind:  {".envrc", ".mcp.json", ".omnijail.yaml"},
		vscodeKind: {"tasks.json"},
		claudeKind: {"settings.json", "settings.local.json"},
		cursorKind: {"mcp.json", "hooks.json"},
		codexKind:  {"config.toml", "hooks.json"},
		cargoKind:  nil,
		mavenKind:  nil,
	}
	notables = map[dirKind][]string{
		plainKind:  {".pre-commit-config.yaml", "mise.toml", ".mise.toml", ".yarnrc.yml", ".yarnrc"},
		vscodeKind: {"settings.json", "launch.json"},
		cargoKind:  {"config", "config.toml"},
		mavenKind:  {"extensions.xml", "jvm.config", "maven.config"},
	}
)

// isGit reports whether a program may find a name by asking for .git. Some file
// systems make no difference between small letters and capitals.
func isGit(name string) bool { return strings.EqualFold(name, ".git") }

// childKind returns what a directory called name in one of kind parent is. In a
// directory called .git, what git fills by the thousand is not looked at.
func childKind(parent dirKind, inGit bool, name string) dirKind {
	exact := name
	name = strings.ToLower(name)
	switch parent {
	case gitKind:
		if k, ok := gitChildren[name]; ok {
			return k
		}
		if inGit && slices.Contains(bulk, exact) {
			return quietKind
		}
		if k, ok := plainChildren[name]; ok && !inGit {
			return k
		}
	case worktreesKind:
		return gitKind
	case modulesKind:
		return modulesKind
	default:
		if k, ok := plainChildren[name]; ok {
			return k
		}
	}
	return plainKind
}

// classOf returns the class of a file or link called name, in a directory of this
// kind; ClassNone where the name means nothing. Whether it does harm may depend
// on more than the name.
func classOf(kind dirKind, name string, link bool) child.WatchClass {
	name = strings.ToLower(name)
	switch kind {
	case gitKind:
		switch name {
		case "commondir":
			return child.ClassCommonDir
		case "config", "config.worktree":
			return child.ClassConfig
		}
		if _, ok := gitChildren[name]; ok && link {
			return child.ClassPointer
		}
	case hooksKind:
		if !strings.Contains(name, ".") { // no hook has a dot in its name
			return child.ClassHook
		}
	case infoKind:
		if name == "attributes" {
			return child.ClassAttributes
		}
	case todoKind:
		if name == "git-rebase-todo" || name == "todo" {
			return child.ClassTodo
		}
	case worktreesKind, modulesKind:
		if link {
			return child.ClassPointer
		}
	}
	return outsideClass(kind, name, link)
}

// outsideClass is for the files of programs other than git.
func outsideClass(kind dirKind, name string, link bool) child.WatchClass {
	if _, ok := controls[kind]; !ok && kind != gitKind {
		return child.ClassNone
	}
	if kind == gitKind {
		kind = plainKind
	}
	if kind == plainKind && name == ".git" {
		return child.ClassPointer
	}
	if _, ok := plainChildren[name]; ok && link {
		return child.ClassControl
	}
	if slices.Contains(controls[kind], name) {
		return child.ClassControl
	}
	if slices.Contains(notables[kind], name) {
		return child.ClassNotable
	}
	return child.ClassNone
}
