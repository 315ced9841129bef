package daemon

import (
	"fmt"
	"path"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/policy"
)

// noLogin is the text for a client that insists on a token when no source had
// one: without it the client only says that nobody is logged in.
func noLogin(b creds.Binding, policy string) (text, hint string) {
	if b.Type != creds.GH {
		return "", ""
	}
	var from []string
	for _, s := range b.Sources {
		switch s.Kind {
		case creds.SourceEnv:
			from = append(from, s.Env)
		case creds.SourceCommand:
			from = append(from, fmt.Sprintf("%q", strings.Join(s.Argv, " ")))
		case creds.SourceFile:
			from = append(from, s.File)
		}
	}
	none := "and it gave none"
	switch len(from) {
	case 0, 1:
	case 2:
		none = "and neither gave one"
	default:
		none = "and none gave one"
	}
	who := fmt.Sprintf("policy %q", policy)
	if preset, ok := strings.CutPrefix(b.Origin, "--preset "); ok {
		who = fmt.Sprintf("preset %q", preset)
	}
	return fmt.Sprintf("gh found no GitHub login: %s takes it from %s, %s", who, strings.Join(from, " or "), none),
		"gh auth login (outside the jail; the token stays outside)"
}

// mend is what the owner of a credential may try outside: each of its sources, the
// commands quoted by the one function for that.
func mend(sources []creds.Source) string {
	var try []string
	for _, s := range sources {
		switch s.Kind {
		case creds.SourceEnv:
			try = append(try, "set "+s.Env)
		case creds.SourceCommand:
			var quoted []string
			for _, word := range s.Argv {
				quoted = append(quoted, audit.ShellQuote(word))
			}
			try = append(try, "see that this prints it: "+strings.Join(quoted, " "))
		case creds.SourceFile:
			try = append(try, "write it to "+audit.ShellQuote(s.File)+", readable by you alone")
		case creds.SourceSystemd:
			try = append(try, "have the operator load "+audit.ShellQuote(s.Name)+" in the daemon's unit")
		}
	}
	return strings.Join(try, ", or ")
}

// harmless is the entry to suggest: files of variables hold secrets, so another
// comes before them.
func harmless(names []string) string {
	for _, n := range names {
		if !strings.HasPrefix(n, ".env") {
			return n
		}
	}
	return names[0]
}

// hiddenEntries is the text for a command that failed in a directory of which
// something was hidden: it may have needed that.
func hiddenEntries(names []string) (text, hint string) {
	shown := few(names)
	return inShort("hidden in this directory: ", shown, len(names)), fmt.Sprintf("if the command needs one: cwd_allow_hidden: [%s]", harmless(shown))
}

// maskedEntries is the same of what the policy masks by name, which only it shows.
func maskedEntries(names []string) (text, hint string) {
	return inShort("masked in this directory: ", few(names), len(names)), "if the command needs one: a policy without it in mask_paths"
}

// few are the first of names, as they may be printed.
func few(names []string) []string { return escaped(names[:min(len(names), 12)]) }

func inShort(what string, shown []string, all int) string {
	text := what + strings.Join(shown, " ")
	if all > len(shown) {
		text += fmt.Sprintf(" and %d more", all-len(shown))
	}
	return text
}

// hiddenDoors is the refusal for a command that failed where Unix sockets were
// hidden: it may have tried to connect to one. A jail may have named them.
func hiddenDoors(paths []string) audit.Record {
	shown := paths[:min(len(paths), 3)]
	reason := "Unix sockets and FIFOs are hidden in the jail: " + strings.Join(escaped(shown), " ")
	if more := len(paths) - len(shown); more > 0 {
		reason += fmt.Sprintf(" and %d more", more)
	}
	return audit.Record{
		Code: string(audit.CodeSocket), Path: audit.Escape(paths[0]), Reason: reason,
		Fix: "if the command needs to connect: " + policy.Line("unix_sockets", shown...),
	}
}

// sharedFiles is the text for a directory of installed files that a command may
// write, and that are hard links of a cache outside.
func sharedFiles(dir string) (text, hint string) {
	how := "UV_LINK_MODE=copy (uv)"
	if path.Base(dir) == "node_modules" {
		how = "package-import-method=copy in .npmrc (pnpm)"
	}
	return "files in " + audit.Escape(dir) + " are hard links: what the command writes there, it writes in the cache and in other projects too",
		"install them again in the jail, or outside with " + how
}

// emptyHome is the text for a command that failed where its user's home directory
// is outside: it may have looked for a file of it.
func emptyHome() (text, hint string) {
	return "your home directory is not in the jail: the command ran in an empty one", "go to a project's directory first"
}
