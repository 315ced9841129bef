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
	jail     string
	detach   bool
	publish  []uint
	nodePort []uint
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
			err := f.check(args)
			if err == nil {
				err = f.checkJail(cmd)
			}
			if err != nil {
				return usageError{err, cmd.UseLine()}
			}
			return runExec(cmd.Context(), g, f, args)
		},
	}
	s := cmd.Flags()
	s.SetInterspersed(false)
	f.describeJail(cmd)
	f.describeCommand(cmd)
	s.IntVar(&f.statusFD, "status-fd", -1, "write events as JSON lines to descriptor `N`, and no hints")
	s.StringVar(&f.jail, "jail", "", "run in the session jail `ID`, which decides everything but --cwd, --env, the terminal and --timeout")
	complete(cmd, "jail", g.completeJails)
	s.BoolVar(&f.detach, "detach", false, "with --jail: do not wait for the command; print its name, for logs and attach")
	return cmd
}

// describeJail adds the flags that decide what the jail is.
func (f *execFlags) describeJail(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.policy, "policy", "", "a policy by `NAME`, or a file (has a / or ends in .yaml)")
	s.StringArrayVar(&f.add.Presets, "preset", nil, "add the built-in policy `NAME`")
	s.StringArrayVar(&f.add.Write, "write", nil, "make `PATH` writable")
	s.StringArrayVar(&f.add.Read, "read", nil, "make `PATH` readable")
	s.StringArrayVar(&f.add.Allow, "allow", nil, "allow the requests of a `RULE`: 'METHODS HOST[/PATH-GLOB]'")
	s.StringVar(&f.user, "user", "", "run as `USER`, a name, UID or UID:GID; root must say it and nobody else may")
	s.StringVar(&f.memory, "memory", "", "the `SIZE` that the command and all it starts may use: 512MiB, 1g")
	s.Int64Var(&f.pids, "pids", 0, "it may have `N` processes and threads")
	s.StringVar(&f.backend, "backend", "", "what enforces the jail: the `NAME` of one in omnijailctl doctor")
	s.UintSliceVar(&f.publish, "publish", nil, "let the node's loopback reach `PORT` of the jail")
	s.UintSliceVar(&f.nodePort, "node-port", nil, "let the jail reach `PORT` of the node's loopback")
	complete(cmd, "policy", completePolicies)
	complete(cmd, "preset", completePresets)
}

// describeCommand adds the flags that a command has of its own.
func (f *execFlags) describeCommand(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.cwd, "cwd", "", "working directory `DIR` (default: here)")
	s.StringArrayVar(&f.env, "env", nil, "set a variable: `K=V`, or K for the caller's own value")
	s.BoolVar(&f.tty, "tty", false, "give the command a terminal (Ctrl-Z stops what a shell in it starts, never the command itself)")
	s.BoolVar(&f.noTTY, "no-tty", false, "never give it one")
	s.DurationVar(&f.timeout, "timeout", 0, "stop the command after `TIME`: 90s, 5m")
}

// checkJail refuses what a jail that is there already has decided.
func (f *execFlags) checkJail(cmd *cobra.Command) error {
	if f.jail == "" {
		return nil
	}
	for _, name := range jailFlags {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s: was decided when the jail was created", name)
		}
	}
	return nil
}

// jailFlags are those of describeJail.
var jailFlags = []string{
	"policy", "preset", "write", "read", "allow", "user", "memory", "pids", "backend", "publish", "node-port",
}

// check refuses flags that make no sense.
func (f *execFlags) check(argv []string) error {
	switch {
	case f.timeout < 0:
		return errors.New("--timeout: must not be negative")
	case f.pids < 0:
		return errors.New("--pids: must not be negative")
	case f.tty && f.noTTY:
		return errors.New("--tty and --no-tty exclude each other")
	case f.detach && f.statusFD >= 0:
		return errors.New("--detach and --status-fd exclude each other: nothing of the command is waited for")
	case f.detach && f.jail == "":
		return errors.New("--detach: needs --jail ID; for a jail of its own: omnijailctl create -- COMMAND")
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
