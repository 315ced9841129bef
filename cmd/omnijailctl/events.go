package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/internal/audit"
)

func newEvents(g *globals) *cobra.Command {
	var follow, denied bool
	var since, jailID string
	cmd := &cobra.Command{
		Use: "events", Short: "what your jails did and were refused", Args: nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			for k, v := range map[string]string{"since": since, "jail": jailID} {
				if v != "" {
					q.Set(k, v)
				}
			}
			if follow {
				q.Set("follow", "true")
			}
			if denied {
				q.Set("denied", "true")
			}
			return g.client().Stream(cmd.Context(), "/v1/events", q, func(line []byte) error {
				if g.json {
					_, err := fmt.Printf("%s\n", line)
					return err
				}
				var r audit.Record
				if err := json.Unmarshal(line, &r); err != nil {
					return err
				}
				_, err := fmt.Println(sentence(r))
				return err
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&follow, "follow", false, "go on as they happen")
	f.BoolVar(&denied, "denied", false, "refusals only")
	f.StringVar(&since, "since", "", "since `WHEN`: a duration ago (1h) or an RFC 3339 time")
	f.StringVar(&jailID, "jail", "", "only what the jail `ID` did")
	complete(cmd, "jail", g.completeJails)
	return cmd
}

// sentence is one record as a line. Its strings were escaped when they were
// written; nothing in them can move the cursor.
func sentence(r audit.Record) string {
	s := r.Time.Local().Format("15:04:05") + " " + r.ID + " " + string(r.Kind)
	if r.Decision != "" {
		s += " " + string(r.Decision)
	}
	for _, part := range []string{r.Method, r.Authority + r.Path, r.Argv0} {
		if part != "" {
			s += " " + part
		}
	}
	if r.Credential != "" {
		s += " credential=" + r.Credential
	}
	if r.Status != 0 {
		s += fmt.Sprintf(" %d", r.Status)
	}
	if r.Exit != nil {
		s += fmt.Sprintf(" exit=%d", *r.Exit)
	}
	if r.Reason != "" {
		s += ": " + r.Reason
	}
	return s
}

func newWhy(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "why ID", Short: "explain one refusal, with the line that decided", Args: nArgs(1, 1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			var r audit.Record
			if err := g.client().Get(cmd.Context(), "/v1/events/"+url.PathEscape(args[0]), nil, &r); err != nil {
				return missing("event", args[0], err)
			}
			if g.json {
				return printJSON(r)
			}
			fmt.Print(whyText(r))
			return nil
		},
	}
}

func whyText(r audit.Record) string {
	s := fmt.Sprintf("%s  %s\n", r.ID, r.Time.Local().Format("2006-01-02 15:04:05"))
	switch {
	case r.Jail != "":
		s += fmt.Sprintf("jail     %s, policy %q\n", r.Jail, r.Policy)
	case r.Policy != "":
		s += fmt.Sprintf("jail     none was made, policy %q\n", r.Policy)
	default: // refused before a policy was read
		s += "jail     none was made\n"
	}
	line := func(name, value string) {
		if value != "" {
			s += fmt.Sprintf("%-8s %s\n", name, value)
		}
	}
	line("what", strings.TrimSpace(r.Method+sep(r.Method)+r.Authority+r.Path+r.Argv0))
	decision := string(r.Decision)
	if r.Code != "" {
		decision += " (" + r.Code + ")"
	}
	line("decision", decision)
	if r.Exit != nil {
		line("exit", strconv.Itoa(*r.Exit))
	}
	line("because", r.Reason)
	line("rule", r.Rule)
	line("line", r.Origin)
	line("credential", r.Credential)
	line("to allow", r.Fix)
	for _, text := range r.Stderr {
		line("it said", text)
	}
	return s
}

func sep(s string) string {
	if s == "" {
		return ""
	}
	return " "
}

func newAudit(g *globals) *cobra.Command {
	cmd := group(&cobra.Command{Use: "audit", Short: "check the journal's chain"})
	cmd.AddCommand(later("prove", "proofs of single lines"), &cobra.Command{
		Use: "verify [FILE]", Short: "prove that no line of a journal was changed", Args: nArgs(0, 1),
		Long: `Prove that no line of a journal was changed, removed or put in. Without FILE it is
read from standard input: files that were set aside go first.

Lines cut off at the end, or a journal written anew, leave a chain too: compare the
last hash with one that you keep elsewhere.`,
		Example: "  sudo omnijailctl audit verify /var/lib/omnijail/audit.jsonl",
		RunE: func(_ *cobra.Command, args []string) error {
			f := os.Stdin
			if len(args) == 1 {
				var err error
				if f, err = os.Open(args[0]); err != nil {
					return err
				}
				defer f.Close()
			}
			chain, err := audit.Verify(f)
			if err != nil {
				return err
			}
			if g.json {
				return printJSON(map[string]any{"first": chain.First, "last": chain.Last, "hash": chain.Hash})
			}
			if !g.quiet {
				fmt.Printf("the chain holds from record %d to %d, whose hash is %s\n", chain.First, chain.Last, chain.Hash)
			}
			return nil
		},
	})
	return cmd
}
