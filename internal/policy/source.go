package policy

import (
	"strings"

	"github.com/omnijail/omnijail/creds"
)

// sources reads source: one place that yields a value, or a list of them.
func (d *decoder) sources(key string, n *node) []creds.Source {
	if n.kind == mapping {
		n = &node{kind: list, items: []*node{n}, at: n.at}
	} else if n.kind != list {
		d.add(Error{Pos: n.at, Key: key, Msg: "must say where the value comes from",
			Fix: "{env: VAR}, {file: PATH}, {command: STRING} or a list of these"})
		return nil
	}
	var out []creds.Source
	for i, item := range n.items {
		if s, ok := d.source(index(key, i), item); ok {
			out = append(out, s)
		}
	}
	if len(n.items) == 0 {
		d.errorf(n.at, key, "is empty")
	}
	return out
}

func (d *decoder) source(key string, n *node) (creds.Source, bool) {
	var s creds.Source
	before := len(d.errs)
	set := func(kind creds.SourceKind, at Pos) {
		if s.Kind != "" {
			d.errorf(at, key, "has both %s and %s: write a list", s.Kind, kind)
		}
		s.Kind = kind
	}
	d.mapping(key, n, map[string]keyFunc{
		"env": func(d *decoder, k string, n *node) {
			// Beside command, env lists further variables that the command gets.
			if n.kind == list {
				s.Pass = d.envNames(k, n)
				return
			}
			set(creds.SourceEnv, n.at)
			s.Env = d.envName(k, n)
		},
		"file": func(d *decoder, k string, n *node) {
			set(creds.SourceFile, n.at)
			s.File = d.str(k, n)
			if msg := checkPath(s.File); msg != "" {
				d.errorf(n.at, k, "%s", msg)
			} else if !strings.HasPrefix(s.File, "/") && !strings.HasPrefix(s.File, "~/") {
				d.errorf(n.at, k, "must be absolute or begin with ~/: a secret does not lie in the working directory")
			}
		},
		"command": func(d *decoder, k string, n *node) {
			set(creds.SourceCommand, n.at)
			s.Argv = d.command(k, n)
		},
		"systemd": func(d *decoder, k string, n *node) {
			set(creds.SourceSystemd, n.at)
			s.Name = d.name(k, n)
		},
	}, nil)
	if len(d.errs) == before && s.Kind == "" {
		d.errorf(n.at, key, "needs one of env, file, command, systemd")
	}
	if s.Pass != nil && s.Kind != creds.SourceCommand {
		d.errorf(n.at, key, "a list of variables belongs to a command")
	}
	return s, len(d.errs) == before
}

func (d *decoder) envName(key string, n *node) string {
	s := d.str(key, n)
	if msg := checkEnvName(s); msg != "" {
		d.errorf(n.at, key, "%.64q %s", s, msg)
		return ""
	}
	return s
}

func (d *decoder) envNames(key string, n *node) []string {
	out := []string{}
	for i, item := range d.items(key, n, false) {
		if s := d.envName(index(key, i), item); s != "" {
			out = appendNew(out, s)
		}
	}
	return out
}

// command reads a STRING, split into words without a shell, or a list.
func (d *decoder) command(key string, n *node) []string {
	var argv []string
	if n.kind == list {
		for i, item := range n.items {
			argv = append(argv, d.str(index(key, i), item))
		}
	} else if text := d.str(key, n); text != "" {
		words, err := splitWords(text)
		if err != nil {
			e := Error{Pos: n.at, Key: key, Msg: err.Error()}
			e.Fix = "a command is run without a shell; for one, write command: [sh, -c, " + quoteYAML(text) + "]"
			d.add(e)
			return nil
		}
		argv = words
	}
	switch {
	case len(argv) == 0 || argv[0] == "":
		d.errorf(n.at, key, "is empty")
	case strings.Contains(argv[0], "/") && !strings.HasPrefix(argv[0], "/") && !strings.HasPrefix(argv[0], "~/"):
		// A program below the working directory is one the jail may write.
		d.add(Error{Pos: n.at, Key: key, Msg: "names a program relative to a directory",
			Fix: "write its absolute path, or its name alone to find it in your PATH"})
	}
	return argv
}
