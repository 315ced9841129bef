package main

import (
	"net/url"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
)

func newAttach(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "attach ID [COMMAND-NAME]", Short: "join the terminal of a detached command", Args: nArgs(1, 2),
		Long: `Join the terminal of the command that a jail was created with (create --tty --
COMMAND), or of one that exec --detach --tty has started, by the name that it
printed. Ctrl-] detaches: the command goes on, and attach joins it again.`,
		ValidArgsFunction: g.completeJails,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := g.client().Attach(cmd.Context(), args[0], commandName(args), *terminalSize())
			if err != nil {
				return missing("jail", args[0], err)
			}
			defer s.Close()
			r := &run{g: g, s: s, std: &stdio{tty: true}}
			r.term.detach = func() {
				r.term.restore()
				if !g.quiet {
					say("detached")
					hint("omnijailctl attach " + strings.Join(args, " "))
				}
				os.Exit(0)
			}
			return r.wait()
		},
	}
}

// commandName is the name of a detached command, empty for the jail's first.
func commandName(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return args[1]
}

func newLogs(g *globals) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "logs ID [COMMAND-NAME]", Short: "what a detached command has written", Args: nArgs(1, 2),
		Long: `Print what the command that a jail was created with has written, or one that
exec --detach has started, the last 256 KiB of it, also after its end.`,
		ValidArgsFunction: g.completeJails,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			query := url.Values{}
			if follow {
				query.Set("follow", "true")
			}
			if name := commandName(args); name != "" {
				query.Set("command", name)
			}
			return missing("jail", args[0], g.client().Copy(ctx, jailPath(args[0])+"/logs", query, os.Stdout))
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "stay and print what comes, until the command ends")
	return cmd
}
