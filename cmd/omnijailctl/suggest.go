package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
)

func (g *globals) policySuggest() *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "suggest --jail ID", DisableFlagsInUseLine: true,
		Short: "what to add to a policy for what a jail was refused", Args: nArgs(0, 0),
		Long: `What to add to a policy for what a jail was refused, whether it runs or has ended.
Read it first: a jail asks for what it likes. Hosts that were first seen in a
refused write and files that hold credentials are never proposed. Files are known
only of jails whose policy says "observe: true".`,
		Example: "  omnijailctl policy suggest --jail j0123456789abcdef",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if id == "" {
				return usageError{errors.New("policy suggest: --jail says of which"), "omnijailctl policy suggest --jail ID"}
			}
			var s api.Suggestion
			if err := g.client().Get(cmd.Context(), "/v1/jails/"+url.PathEscape(id)+"/suggestion", nil, &s); err != nil {
				return missing("jail", id, err)
			}
			if g.json {
				return printJSON(s)
			}
			fmt.Print(suggestionText(s))
			return nil
		},
	}
	cmd.Flags().StringVar(&id, "jail", "", "the jail `ID`, which may have ended")
	complete(cmd, "jail", g.completeJails)
	return cmd
}

// suggestionText is YAML as a whole: what is no entry is a comment.
func suggestionText(s api.Suggestion) string {
	var b strings.Builder
	where := fmt.Sprintf("policy %q", s.Policy)
	if s.Origin != "" && s.Origin != s.Policy {
		where += " (" + s.Origin + ")"
	}
	if s.YAML == "" {
		fmt.Fprintf(&b, "# nothing to add to %s for jail %s\n", where, s.Jail)
	} else {
		fmt.Fprintf(&b, "# to add to %s for jail %s, once you have read it:\n%s", where, s.Jail, s.YAML)
	}
	for _, list := range []struct {
		title string
		lines []string
	}{{"why", s.Why}, {"left out", s.LeftOut}} {
		for _, l := range list.lines {
			fmt.Fprintf(&b, "# %s: %s\n", list.title, l)
		}
	}
	return b.String()
}
