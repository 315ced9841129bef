package policy

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/omnijail/omnijail/creds"
)

// Error says what the policy would do, so that a person can decide.
func (u *Untrusted) Error() string {
	state := "is new"
	if !u.Since.IsZero() {
		state = "has changed since " + u.Since.Format("2 January 2006")
	}
	would := "grant nothing but this directory, read-only"
	if does := u.Doc.effects(u.Cwd); len(does) > 0 {
		would = strings.Join(does, ", ")
	}
	return fmt.Sprintf("%s %s: it would %s", u.Label, state, would)
}

// Fix says what to type.
func (u *Untrusted) Fix() string {
	return "read it, then: omnijailctl policy trust " + shellWord(strings.TrimPrefix(u.Label, "./"))
}

// effects lists in words what a document does that a directory alone does not.
func (d *Document) effects(cwd string) []string {
	var out []string
	if len(d.Weaken) > 0 {
		out = append(out, "weaken "+joinItems(d.Weaken))
	}
	if len(d.Write) > 0 {
		var paths []string
		for _, w := range d.Write {
			paths = append(paths, fmt.Sprintf("%q", shown(w.Text, cwd)))
		}
		out = append(out, "write to "+strings.Join(paths, " and "))
	}
	if n := len(d.hosts()); n > 0 {
		out = append(out, "reach "+count(n, "host"))
	}
	for _, c := range d.Credentials {
		for _, s := range c.Sources {
			switch s.Kind {
			case creds.SourceCommand:
				out = appendNew(out, fmt.Sprintf("run %q outside the jail", strings.Join(s.Argv, " ")))
			case creds.SourceFile:
				out = appendNew(out, fmt.Sprintf("read the secret in %q", shown(s.File, cwd)))
			case creds.SourceEnv:
				out = appendNew(out, "use the secret in $"+s.Env)
			}
		}
	}
	return out
}

// hosts returns the distinct hosts that allow rules name.
func (d *Document) hosts() []string {
	var out []string
	for _, r := range d.Rules {
		if !r.Deny {
			out = appendNew(out, r.Host)
		}
	}
	return out
}

// shown is how a path is shown to a person in cwd.
func shown(path, cwd string) string {
	if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func joinItems(items []Item) string {
	var words []string
	for _, i := range items {
		words = append(words, i.Text)
	}
	return strings.Join(words, ", ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// shellWord quotes a word for a shell unless it needs none.
func shellWord(s string) string {
	plain := s != ""
	for _, c := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+:@%", c) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
