package main

import (
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
)

// execFlags are exec's own.
type execFlags struct {
	policy   string
	add      api.Add
	user     string
	cwd      string
	env      []string
	tty      bool
	noTTY    bool
	timeout  time.Duration
	backend  string
	statusFD int

	// later flags are known and refused until their part is built
	jail, memory, publish, nodePort string
	pids                            int
}

func newExec(g *globals) *cobra.Command {
	f := &execFlags{}
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARG...]",
		Short: "run a command in a jail of its own",
		Long: `Run a command in a jail of its own. Without --policy the first of these rules:
./.omnijail.yaml, ~/.config/omnijail/policies/default.yaml,
/etc/omnijail/policies/default.yaml, the preset "offline".

Exit codes: the command's own; 128+n after a signal; 124 stopped by --timeout;
125 omnijail failed; 126 not executable; 127 not found.`,
		Example: "  omnijailctl exec -- gh api user\n  omnijailctl exec --write . --preset npm -- npm test",
		Args:    usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return usageError{err}
			}
			return runExec(cmd.Context(), g, f, args)
		},
	}
	s := cmd.Flags()
	s.SetInterspersed(false)
	s.StringVar(&f.policy, "policy", "", "a policy's NAME, or a FILE (has a / or ends in .yaml)")
	s.StringArrayVar(&f.add.Presets, "preset", nil, "add a built-in policy")
	s.StringArrayVar(&f.add.Write, "write", nil, "make a path writable")
	s.StringArrayVar(&f.add.Read, "read", nil, "make a path readable")
	s.StringArrayVar(&f.add.Allow, "allow", nil, "allow requests: 'METHODS HOST[/PATH-GLOB]'")
	s.StringVar(&f.user, "user", "", "NAME or UID[:GID] to run as (root only, and required of root)")
	s.StringVar(&f.cwd, "cwd", "", "working directory (default: here)")
	s.StringArrayVar(&f.env, "env", nil, "K=V, or K to pass the caller's own value")
	s.BoolVar(&f.tty, "tty", false, "give the command a terminal")
	s.BoolVar(&f.noTTY, "no-tty", false, "never give it one")
	s.DurationVar(&f.timeout, "timeout", 0, "stop the command after this long")
	s.StringVar(&f.backend, "backend", "", "what enforces the jail")
	s.IntVar(&f.statusFD, "status-fd", -1, "write events as JSON lines to this descriptor")
	s.StringVar(&f.jail, "jail", "", "run in a session jail")
	s.StringVar(&f.memory, "memory", "", "memory limit")
	s.IntVar(&f.pids, "pids", 0, "process limit")
	s.StringVar(&f.publish, "publish", "", "publish a port of the jail")
	s.StringVar(&f.nodePort, "node-port", "", "reach a port of the node")
	cmd.MarkFlagsMutuallyExclusive("tty", "no-tty")
	for _, name := range []string{"jail", "memory", "pids", "publish", "node-port"} {
		s.MarkHidden(name)
	}
	return cmd
}

func (f *execFlags) check() error {
	for name, set := range map[string]bool{
		"--jail": f.jail != "", "--memory": f.memory != "", "--pids": f.pids != 0,
		"--publish": f.publish != "", "--node-port": f.nodePort != "",
	} {
		if set {
			return fmt.Errorf("%s: this build does not enforce it yet", name)
		}
	}
	if f.timeout < 0 {
		return fmt.Errorf("--timeout: must not be negative")
	}
	return nil
}

// request turns flags and the caller's environment into what the daemon is asked.
func (f *execFlags) request(argv []string) (api.ExecRequest, error) {
	req := api.ExecRequest{Add: f.add, User: f.user, Backend: f.backend, Env: map[string]string{}}
	cwd := f.cwd
	if cwd == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return req, fmt.Errorf("the working directory is gone: %w", err)
		}
	}
	if utf8.ValidString(cwd) {
		req.Cwd = cwd
	} else {
		req.CwdB64 = []byte(cwd)
	}
	req.Argv = argv
	for _, a := range argv {
		if !utf8.ValidString(a) {
			req.Argv = nil
			for _, a := range argv {
				req.ArgvB64 = append(req.ArgvB64, []byte(a))
			}
			break
		}
	}
	for _, kv := range f.env {
		k, v, has := strings.Cut(kv, "=")
		if !has {
			if v, has = os.LookupEnv(k); !has {
				continue
			}
		}
		if !utf8.ValidString(v) {
			return req, fmt.Errorf("--env %s: its value is not UTF-8", k)
		}
		req.Env[k] = v
	}
	if f.timeout > 0 {
		req.Timeout = f.timeout.String()
	}
	return req, nil
}

func (f *execFlags) ttyMode() ttyMode {
	switch {
	case f.tty:
		return ttyAlways
	case f.noTTY:
		return ttyNever
	}
	return ttyAuto
}
