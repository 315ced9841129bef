package main

import (
	"errors"
	"fmt"
	"time"

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
	memory   string
	pids     int64
	backend  string
	statusFD int

	// later flags are known and refused until their part is built
	jail, publish, nodePort string
}

func newExec(g *globals) *cobra.Command {
	f := &execFlags{}
	cmd := &cobra.Command{
		Use: "exec [flags] -- COMMAND [ARG...]", DisableFlagsInUseLine: true,
		Short: "run a command in a jail of its own",
		Long: `Run a command in a jail of its own. Without --policy the first of these rules:
./.omnijail.yaml, ~/.config/omnijail/policies/default.yaml,
/etc/omnijail/policies/default.yaml, the preset "offline".

Exit codes: the command's own; 128+n after a signal; 124 stopped by --timeout;
125 omnijail failed; 126 not executable; 127 not found.`,
		Example: "  omnijailctl exec -- gh api user\n  omnijailctl exec --write . --preset npm -- npm test",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return usageError{err, cmd.UseLine()}
			}
			return runExec(cmd.Context(), g, f, args)
		},
	}
	s := cmd.Flags()
	s.SetInterspersed(false)
	s.StringVar(&f.policy, "policy", "", "a policy by `NAME`, or a file (has a / or ends in .yaml)")
	s.StringArrayVar(&f.add.Presets, "preset", nil, "add the built-in policy `NAME`")
	s.StringArrayVar(&f.add.Write, "write", nil, "make `PATH` writable")
	s.StringArrayVar(&f.add.Read, "read", nil, "make `PATH` readable")
	s.StringArrayVar(&f.add.Allow, "allow", nil, "allow the requests of a `RULE`: 'METHODS HOST[/PATH-GLOB]'")
	s.StringVar(&f.user, "user", "", "run as `USER`, a name, UID or UID:GID; root must say it and nobody else may")
	s.StringVar(&f.cwd, "cwd", "", "working directory `DIR` (default: here)")
	s.StringArrayVar(&f.env, "env", nil, "set a variable: `K=V`, or K for the caller's own value")
	s.BoolVar(&f.tty, "tty", false, "give the command a terminal")
	s.BoolVar(&f.noTTY, "no-tty", false, "never give it one")
	s.DurationVar(&f.timeout, "timeout", 0, "stop the command after `TIME`: 90s, 5m")
	s.StringVar(&f.memory, "memory", "", "the `SIZE` that the command and all it starts may use: 512MiB, 1g")
	s.Int64Var(&f.pids, "pids", 0, "it may have `N` processes and threads")
	s.StringVar(&f.backend, "backend", "", "what enforces the jail: the `NAME` of one in omnijailctl doctor")
	s.IntVar(&f.statusFD, "status-fd", -1, "write events as JSON lines to descriptor `N`, and no hints")
	s.StringVar(&f.jail, "jail", "", "run in a session jail")
	s.StringVar(&f.publish, "publish", "", "publish a port of the jail")
	s.StringVar(&f.nodePort, "node-port", "", "reach a port of the node")
	for _, name := range []string{"jail", "publish", "node-port"} {
		s.MarkHidden(name)
	}
	complete(cmd, "policy", completePolicies)
	complete(cmd, "preset", completePresets)
	return cmd
}

// check refuses flags that make no sense or are not enforced yet.
func (f *execFlags) check(argv []string) error {
	for name, set := range map[string]bool{
		"--jail": f.jail != "", "--publish": f.publish != "", "--node-port": f.nodePort != "",
	} {
		if set {
			return fmt.Errorf("%s: this build does not enforce it yet", name)
		}
	}
	switch {
	case f.timeout < 0:
		return errors.New("--timeout: must not be negative")
	case f.pids < 0:
		return errors.New("--pids: must not be negative")
	case f.tty && f.noTTY:
		return errors.New("--tty and --no-tty exclude each other")
	case len(argv) == 0:
		return errors.New("exec: there is no command to run")
	}
	return nil
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
