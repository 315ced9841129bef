package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/jail"
)

// contextNames are the variables that every jail takes from the client's own
// environment. Nothing that a loader or an interpreter obeys is among them.
var contextNames = []string{
	"PATH", "TERM", "LANG", "LANGUAGE", "LC_ADDRESS", "LC_ALL", "LC_COLLATE", "LC_CTYPE",
	"LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME",
	"LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", "TZ", "COLORTERM", "NO_COLOR",
}

// commandNames are the variables that a credential command gets, for keyrings
// and the like; source.env adds to them.
var commandNames = []string{
	"PATH", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
	"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "GPG_TTY", "GH_CONFIG_DIR",
}

// defaultPath is the PATH of a client that has none.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// PassNames returns the names that the command gets from the client's
// environment: the fixed ones and the document's own.
func (d *Document) PassNames() []string {
	out := slices.Clone(contextNames)
	for _, p := range d.Passthrough {
		out = appendNew(out, p.Text)
	}
	return out
}

// AlwaysPassed reports whether every policy has name of the client's environment: a
// client need not be asked for it.
func AlwaysPassed(name string) bool { return slices.Contains(contextNames, name) }

// CommandNames returns the names that the document's credential commands get
// from the client's environment.
func (d *Document) CommandNames() []string {
	var out []string
	for _, c := range d.Credentials {
		for _, name := range CommandEnv(c.Sources) {
			out = appendNew(out, name)
		}
	}
	return out
}

// CommandEnv returns the names that the commands among the sources get from the
// client's environment; none without a command.
func CommandEnv(sources []creds.Source) []string {
	var out []string
	for _, s := range sources {
		if len(s.Argv) == 0 {
			continue
		}
		for _, name := range append(slices.Clone(commandNames), s.Pass...) {
			out = appendNew(out, name)
		}
	}
	return out
}

// envPlan says how the command's environment is made, and refuses a variable
// that would carry into the jail what the proxy keeps out of it.
func envPlan(doc *Document, req Request, home string, rep *report) jail.EnvPlan {
	plan := jail.EnvPlan{Passthrough: doc.PassNames(), Set: map[string]string{
		"HOME": home, "TMPDIR": "/tmp", "SHELL": "/bin/sh",
		"USER": req.User.Name, "LOGNAME": req.User.Name,
		// Hard links from a cache would let a write here change files outside. pnpm
		// before 11 reads a name that npm warns of: it copies all the same, since no
		// link leads from one grant to another.
		"UV_LINK_MODE": "copy", "pnpm_config_package_import_method": "copy",
	}}
	maps.Copy(plan.Set, doc.Env)
	maps.Copy(plan.Set, req.Env)
	taken := map[string]string{}
	for _, c := range doc.Credentials {
		for _, e := range c.Env {
			taken[e.Name] = "carries the placeholder of credential " + c.Name
		}
		for _, s := range c.Sources {
			if s.Env != "" && taken[s.Env] == "" {
				taken[s.Env] = "is the secret of credential " + c.Name
			}
		}
	}
	for _, p := range doc.Passthrough {
		if why := taken[p.Text]; why != "" {
			rep.errorf(p.At, "env_passthrough", "%s %s: remove it here", p.Text, why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Set)) {
		if why := taken[name]; why != "" {
			rep.errorf(Pos{}, "env", "%s %s: it cannot be set too", name, why)
		}
	}
	return plan
}

// BuildEnv makes the command's environment: what the plan takes from the
// client's context, then what it sets, then what is omnijail's own (CA
// variables, placeholders, OMNIJAIL and OMNIJAIL_ID), each beating what comes
// before it.
func BuildEnv(plan jail.EnvPlan, context, own map[string]string) [][]byte {
	env := map[string]string{"PATH": defaultPath}
	for _, name := range plan.Passthrough {
		if v, ok := context[name]; ok && !strings.ContainsRune(v, 0) {
			env[name] = v
		}
	}
	maps.Copy(env, plan.Set)
	maps.Copy(env, own)
	var out [][]byte
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, []byte(name+"="+env[name]))
	}
	return out
}
