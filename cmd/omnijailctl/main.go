// It starts for one short task: a quota of processors is not worth its search.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// omnijailctl is the client of omnijaild: it runs commands in jails and explains
// what they were refused.
//
// The rules of its voice: the command's output is the command's; a line of ours
// goes to standard error as "omnijailctl: …", what to type as "hint: …", in lower
// case and without a full stop; results that a person asked for go to standard
// output, with --json as JSON.
package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
)

// globals are the flags of every verb.
type globals struct {
	socket  string
	json    bool
	verbose bool
	quiet   bool
	noColor bool
}

func (g *globals) client() *api.Client { return &api.Client{Socket: g.socket} }

// exitError carries an exit code through cobra; what there was to say was said.
type exitError int

func (exitError) Error() string { return "exit" }

func main() {
	root := newRoot()
	err := root.Execute()
	var code exitError
	var usage usageError
	switch {
	case err == nil:
	case errors.As(err, &code):
		os.Exit(int(code))
	case errors.As(err, &usage):
		report(err)
		os.Exit(exitUsage)
	default:
		report(err)
		os.Exit(exitFailed)
	}
}

func newRoot() *cobra.Command {
	g := &globals{}
	root := group(&cobra.Command{
		Use:           "omnijailctl",
		Short:         "run a command with what it needs and nothing more",
		Example:       "  omnijailctl exec -- gh api user",
		SilenceUsage:  true,
		SilenceErrors: true,
	})
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{err, cmd.CommandPath() + " --help"}
	})
	f := root.PersistentFlags()
	f.StringVar(&g.socket, "socket", defaultSocket(), "`PATH` of the daemon's socket (also $OMNIJAIL_SOCKET)")
	f.BoolVar(&g.json, "json", false, "print JSON")
	f.BoolVarP(&g.verbose, "verbose", "v", false, "say which policy ran, and from where")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "say nothing but errors")
	f.BoolVar(&g.noColor, "no-color", os.Getenv("NO_COLOR") != "", "no colours (also $NO_COLOR)")
	root.AddCommand(
		newExec(g), newInit(g), newPolicy(g), newEvents(g), newWhy(g), newAudit(g),
		newCreate(g), newList(g), newInspect(g), newKill(g), newRemove(g), newAttach(g), newLogs(g), newRearm(g), newDrain(g), newCache(g), newDoctor(g), newVersion(g), newCompletion(root),
	)
	root.AddCommand(selftestVerbs(g)...)
	root.AddCommand(buildVerbs(root)...)
	root.SetHelpCommand(newHelp(root))
	for name, what := range laterVerbs {
		root.AddCommand(later(name, what))
	}
	return root
}

func defaultSocket() string {
	if s := os.Getenv("OMNIJAIL_SOCKET"); s != "" {
		return s
	}
	return api.DefaultSocket
}
