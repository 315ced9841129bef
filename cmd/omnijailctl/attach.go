package main

import (
	"net/url"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
)

func newAttach(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "attach ID", Short: "join the terminal of the command that a jail was created with", Args: nArgs(1, 1),
		Long: `Join the terminal of the command that a jail was created with (create --tty --
COMMAND). Ctrl-] detaches: the command goes on, and attach joins it again.`,
		ValidArgsFunction: g.completeJails,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := g.client().Attach(cmd.Context(), args[0], *terminalSize())
			if err != nil {
				return missing("jail", args[0], err)
			}
			defer s.Close()
			r := &run{g: g, s: s, std: &stdio{tty: true}}
			r.term.detach = func() {
				r.term.restore()
				if !g.quiet {
					say("detached")
					hint("omnijailctl attach " + args[0])
				}
				os.Exit(0)
			}
			return r.wait()
		},
	}
}

func newLogs(g *globals) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "logs ID", Short: "what the command that a jail was created with has written", Args: nArgs(1, 1),
		Long: `Print what the command that a jail was created with has written, the last 256 KiB
of it, also after its end.`,
		ValidArgsFunction: g.completeJails,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			query := url.Values{}
			if follow {
				query.Set("follow", "true")
			}
			return missing("jail", args[0], g.client().Copy(ctx, jailPath(args[0])+"/logs", query, os.Stdout))
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "stay and print what comes, until the command ends")
	return cmd
}
