package main

import (
	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
)

func newRearm(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "rearm ID", Short: "give a session that has lost its network another", Args: nArgs(1, 1), ValidArgsFunction: g.completeJails,
		Long: `Give a session jail whose state is "degraded" another network: its egress process
has ended, and took the network, the CA and the values of credentials along. The
values are taken from their sources again. Commands that run keep the network
that leads nowhere; those that start afterwards have the new one, with a CA and
placeholders of its own.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var j api.Jail
			if err := g.client().Post(cmd.Context(), jailPath(args[0])+"/rearm", struct{}{}, &j); err != nil {
				return missing("jail", args[0], err)
			}
			if g.json {
				return printJSON(j)
			}
			return nil
		},
	}
}
