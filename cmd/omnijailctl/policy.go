package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/policy"
)

func newPolicy(g *globals) *cobra.Command {
	cmd := group(&cobra.Command{Use: "policy", Short: "list, read, check and trust policies"})
	cmd.AddCommand(g.policyList(), g.policyShow(), g.policyCheck(), g.policyTest(), g.policyTrust(),
		g.policySuggest(), g.policyApply())
	return cmd
}

func (g *globals) policyList() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "the policies that can be named", Args: nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := g.named(cmd.Context())
			if g.json {
				return printJSON(list)
			}
			w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "POLICY\tFROM\tWHAT")
			for _, p := range list {
				what := p.Description
				if p.Problem != "" {
					what = "unusable: " + strings.SplitN(p.Problem, "\n", 2)[0]
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.Origin, what)
			}
			return w.Flush()
		},
	}
}

// named lists the policies that this user can read, then those that only the
// daemon knows, if it answers.
func (g *globals) named(ctx context.Context) []policy.Listed {
	list := policy.ListNames(library())
	var known []api.Policy
	if g.client().Get(ctx, "/v1/policies", nil, &known) != nil {
		return list
	}
	for _, p := range known {
		if !slices.ContainsFunc(list, func(l policy.Listed) bool { return l.Name == p.Name }) {
			list = append(list, policy.Listed{Name: p.Name, Origin: p.Origin, Description: p.Description})
		}
	}
	return list
}

// openPolicy finds and decodes what an argument names, for reading.
func openPolicy(arg string) (policy.Found, *policy.Document, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return policy.Found{}, nil, err
	}
	lib := library()
	f, err := lib.Find(arg, cwd)
	if err != nil {
		return f, nil, err
	}
	doc, err := lib.Open(f)
	return f, doc, policyErrors(err)
}

func (g *globals) policyShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME|FILE", Short: "what a policy gives, weakenings first", Args: nArgs(1, 1), ValidArgsFunction: completePolicies,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := g.describe(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if g.json {
				return printJSON(p)
			}
			fmt.Print(shown(p))
			return nil
		},
	}
}

// shown is a policy in words. Of one that this user cannot read the daemon tells
// no more than its name: it says where the operator's secrets are.
func shown(p api.Policy) string {
	if p.Text != "" {
		return p.Text
	}
	s := fmt.Sprintf("%s (%s)\n", p.Name, p.Origin)
	if p.Description != "" {
		s += p.Description + "\n"
	}
	return s + "\nThe operator's: what it holds is shown to root alone.\n"
}

// describe reads a policy here, or has the daemon describe one of a folder that
// we do not know.
func (g *globals) describe(ctx context.Context, arg string) (api.Policy, error) {
	cwd, _ := os.Getwd() // without one, paths are shown whole
	found, doc, err := openPolicy(arg)
	if err == nil {
		return api.Policy{Name: found.Name, Origin: found.String(), Description: doc.Description, Text: policy.Show(doc, cwd)}, nil
	}
	var p api.Policy
	if policy.IsFile(arg) || g.client().Get(ctx, "/v1/policies/"+url.PathEscape(arg), nil, &p) != nil {
		return p, err
	}
	return p, nil
}

func (g *globals) policyCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check NAME|FILE", Short: "every error of a policy at once", Args: nArgs(1, 1), ValidArgsFunction: completePolicies,
		RunE: func(_ *cobra.Command, args []string) error {
			cwd, err := os.Getwd()
			if err != nil {
				return err
			}
			lib := library()
			f, err := lib.Find(args[0], cwd)
			if err != nil {
				return err
			}
			notes, err := policy.Check(lib, f)
			if err != nil {
				return policyErrors(err)
			}
			if g.json {
				return printJSON(map[string]any{"policy": f.String(), "notes": append([]string{}, notes...)})
			}
			if g.quiet {
				return nil
			}
			for _, n := range notes {
				fmt.Println("note:", n)
			}
			fmt.Println(f, "holds")
			return nil
		},
	}
}

func (g *globals) policyTest() *cobra.Command {
	var recorded string
	cmd := &cobra.Command{
		Use: "test NAME|FILE METHOD URL", Short: "what a policy says to one request, or to recorded ones, and why", ValidArgsFunction: completePolicies,
		Long: `What a policy says to one request, and why. The exit code is 1 when it is refused.

With --replay and no request: what a policy would change of the requests in an
audit file, or in the output of "omnijailctl events --json" (- reads standard
input). The exit code is 1 when it would change any.`,
		Example: `  omnijailctl policy test .omnijail.yaml GET https://api.github.com/user
  omnijailctl events --json --since 24h | omnijailctl policy test --replay - .omnijail.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if recorded != "" {
				return nArgs(1, 1)(cmd, args)
			}
			return nArgs(3, 3)(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			_, doc, err := openPolicy(args[0])
			if err != nil {
				return err
			}
			if recorded != "" {
				return g.policyReplay(doc, recorded)
			}
			answer, err := policy.TestURL(doc, strings.ToUpper(args[1]), args[2])
			if err != nil {
				return usageError{error: err}
			}
			if err := g.printAnswer(answer); err != nil {
				return err
			}
			if !answer.Allowed {
				return exitError(1)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&recorded, "replay", "", "judge the requests in the audit `FILE` instead")
	return cmd
}

func (g *globals) printAnswer(a policy.Answer) error {
	if g.json {
		return printJSON(api.TestResult{Allowed: a.Allowed, Credential: a.Credential, Text: a.Text})
	}
	_, err := fmt.Println(a.Text)
	return err
}

func (g *globals) policyTrust() *cobra.Command {
	return &cobra.Command{
		Use: "trust [FILE]", Short: "obey this content of a policy file from now on", Args: nArgs(0, 1),
		Long: "Obey this content of a policy file from now on, ./" + policy.LocalName + " without FILE. A change of what it means\nasks again.",
		RunE: func(_ *cobra.Command, args []string) error {
			path := "./" + policy.LocalName
			if len(args) == 1 {
				path = args[0]
			}
			return trustFile(g, path)
		},
	}
}

func trustFile(g *globals, path string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	lib := library()
	if !strings.Contains(path, "/") {
		path = "./" + path
	}
	f, err := lib.Find(path, cwd)
	if err != nil {
		return err
	}
	flat, _, err := lib.Flatten(f)
	if err != nil {
		return policyErrors(err)
	}
	trust := policy.Trust{Path: policy.TrustPath(homeDir())}
	if err := trust.Record(f, flat, time.Now()); err != nil {
		return err
	}
	if !g.quiet {
		fmt.Println("trusted", f)
	}
	return nil
}
