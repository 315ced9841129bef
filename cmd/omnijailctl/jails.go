package main

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
)

func jailPath(id string) string { return "/v1/jails/" + url.PathEscape(id) }

func newList(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "your live jails", Args: nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var jails []api.Jail
			if err := g.client().Get(cmd.Context(), "/v1/jails", nil, &jails); err != nil {
				return err
			}
			if g.json {
				return printJSON(jails)
			}
			w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "JAIL\tPOLICY\tBACKEND\tSINCE\tCOMMANDS\tSTATE")
			for _, j := range jails {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", j.ID, j.Policy, j.Backend, time.Since(j.Started).Round(time.Second), j.Commands, stateOf(j))
			}
			return w.Flush()
		},
	}
}

// stateOf is what a jail is, in a word or two.
func stateOf(j api.Jail) string {
	if j.Session {
		return "session, " + j.State
	}
	return j.State
}

func newInspect(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "inspect ID", Short: "one live jail, as JSON", Args: nArgs(1, 1), ValidArgsFunction: g.completeJails,
		RunE: func(cmd *cobra.Command, args []string) error {
			var j api.Jail
			if err := g.client().Get(cmd.Context(), jailPath(args[0]), nil, &j); err != nil {
				return missing("jail", args[0], err)
			}
			return printJSON(j)
		},
	}
}

func newKill(g *globals) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "kill ID", Short: "end the commands of a jail with all that they started", Args: nArgs(1, 1), ValidArgsFunction: g.completeJails,
		Long: `End the commands of a jail with all that they started. A jail of one command ends
with it; a session jail stays for the next (omnijailctl rm ends it).`,
		RunE: func(cmd *cobra.Command, args []string) error {
			sig, err := signalOf(name)
			if err != nil {
				return usageError{err, cmd.UseLine()}
			}
			return missing("jail", args[0], g.client().Post(cmd.Context(), jailPath(args[0])+"/signal", api.Signal{Signal: int(sig)}, nil))
		},
	}
	cmd.Flags().StringVar(&name, "signal", "KILL", "send `SIGNAL` instead: TERM, HUP, 10")
	return cmd
}

// signalOf reads TERM, SIGTERM or 15.
func signalOf(name string) (unix.Signal, error) {
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= 64 {
		return unix.Signal(n), nil
	}
	if s := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")); s != 0 {
		return s, nil
	}
	return 0, fmt.Errorf("--signal %q: is no signal", name)
}

func newRemove(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "rm ID...", Short: "end jails and everything in them", Args: nArgs(1, 1000), ValidArgsFunction: g.completeJails,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if err := missing("jail", id, g.client().Delete(cmd.Context(), jailPath(id))); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
