package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/omnijail/omnijail/internal/jail"
)

// DefaultMaxAge is how long a session jail lives where its policy says nothing.
const DefaultMaxAge = 24 * time.Hour

// Command is what a request for one more command in a jail says. The jail's own
// Spec decided everything else when it was made.
type Command struct {
	Argv    []string
	Cwd     string            // absolute; empty is the jail's
	Env     map[string]string // over the jail's
	TTY     bool
	Timeout time.Duration // 0 is the jail's; it narrows
}

// With returns a jail's Spec for one more command. The error is a user's.
func With(spec *jail.Spec, c Command) (*jail.Spec, error) {
	rep := &report{}
	out, process := *spec, *spec.OCI.Process
	oci := *spec.OCI
	out.OCI, oci.Process = &oci, &process
	process.Args, process.Terminal = slices.Clone(c.Argv), c.TTY
	checkCommand(spec, c, rep)
	if c.Cwd != "" {
		process.Cwd, out.View.Cwd = c.Cwd, c.Cwd
		out.View.CwdWrite = slices.ContainsFunc(spec.View.Grants, func(g jail.Grant) bool {
			return g.Write && jail.Within(g.Path, c.Cwd)
		})
	}
	if len(c.Env) > 0 {
		out.Env.Set = maps.Clone(spec.Env.Set)
		maps.Copy(out.Env.Set, c.Env)
	}
	out.Limits = spec.Limits.Narrow(jail.Limits{Timeout: c.Timeout})
	return &out, rep.err()
}

func checkCommand(spec *jail.Spec, c Command, rep *report) {
	if len(c.Argv) == 0 {
		rep.errorf(Pos{}, "argv", "is empty")
	}
	for _, a := range append(slices.Clone(c.Argv), c.Cwd) {
		if strings.ContainsRune(a, 0) {
			rep.errorf(Pos{}, "argv", "holds a NUL")
		}
	}
	if c.Cwd != "" && (!filepath.IsAbs(c.Cwd) || filepath.Clean(c.Cwd) != c.Cwd) {
		rep.errorf(Pos{}, "cwd", "%q is not a clean absolute path", c.Cwd)
	}
	taken := secretNames(spec)
	for name, value := range c.Env {
		if msg := checkEnvName(name); msg != "" {
			rep.errorf(Pos{}, "env", "%.64q %s", name, msg)
		} else if strings.ContainsRune(value, 0) {
			rep.errorf(Pos{}, "env", "the value of %s holds a NUL", name)
		} else if taken[name] {
			rep.errorf(Pos{}, "env", "%s belongs to a credential: it cannot be set too", name)
		}
	}
	if spec.Closed == nil {
		return
	}
	for key, set := range map[string]bool{"cwd": c.Cwd != "", "env": len(c.Env) > 0, "tty": c.TTY, "timeout": c.Timeout != 0} {
		if set && !slices.Contains(spec.Closed, key) {
			rep.add(Error{Pos: Pos{File: spec.Policy.Origin}, Key: key, Code: "policy_closed",
				Msg: fmt.Sprintf("policy %q is the operator's and lets a request set only %s", spec.Policy.Name, strings.Join(spec.Closed, ", ")),
				Fix: "run it without this"})
		}
	}
}

// secretNames are the variables of a jail that hold a placeholder or name a secret.
func secretNames(spec *jail.Spec) map[string]bool {
	out := map[string]bool{}
	for _, b := range spec.Bindings {
		for _, e := range b.Env {
			out[e.Name] = true
		}
		for _, s := range b.Sources {
			out[s.Env] = true
		}
	}
	return out
}
