package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/jail"
)

func newCache(g *globals) *cobra.Command {
	cmd := group(&cobra.Command{Use: "cache", Short: "what tools in your jails keep from one command to the next"})
	cmd.AddCommand(g.cacheList(), g.cacheRemove())
	return cmd
}

func (g *globals) cacheList() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "your caches, the one used last first", Args: nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []api.Cache
			if err := g.client().Get(cmd.Context(), "/v1/caches", nil, &list); err != nil {
				return err
			}
			if g.json {
				return printJSON(list)
			}
			w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "CACHE\tPOLICY\tSIZE\tUSED\tWORKSPACE")
			for _, c := range list {
				used := time.Since(c.Used).Round(time.Second).String() + " ago"
				if c.InUse {
					used = "now"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.ID, c.Policy, jail.FormatSize(c.Size), used, c.Workspace)
			}
			return w.Flush()
		},
	}
}

func (g *globals) cacheRemove() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "rm ID... | --all", Short: "remove caches that no jail uses", Args: cobra.ArbitraryArgs, ValidArgsFunction: g.completeCaches,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usageError{errors.New("cache rm: give IDs or --all"), cmd.UseLine()}
			case all:
				return g.removeAllCaches(cmd.Context())
			case len(args) == 0:
				return usageError{errors.New("cache rm: an argument is missing"), cmd.UseLine()}
			}
			for _, id := range args {
				if err := missing("cache", id, g.client().Delete(cmd.Context(), "/v1/caches/"+url.PathEscape(id))); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all of yours")
	return cmd
}

func (g *globals) removeAllCaches(ctx context.Context) error {
	var done api.CachesRemoved
	if err := g.client().DeleteInto(ctx, "/v1/caches", &done); err != nil {
		return err
	}
	if g.json {
		return printJSON(done)
	}
	for _, id := range done.InUse {
		say("cache %s stays: a jail uses it", id)
	}
	if len(done.InUse) > 0 {
		return exitError(exitFailed)
	}
	return nil
}

// completeCaches offers the caller's caches.
func (g *globals) completeCaches(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var list []api.Cache
	if g.client().Get(ctx, "/v1/caches", nil, &list) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []cobra.Completion
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return with(prefix, ids), cobra.ShellCompDirectiveNoFileComp
}
