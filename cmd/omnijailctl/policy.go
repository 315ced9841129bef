package main

import (
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
	cmd := &cobra.Command{Use: "policy", Short: "list, read, check and trust policies"}
	cmd.AddCommand(g.policyList(), g.policyShow(), g.policyCheck(), g.policyTest(), g.policyTrust())
	for _, verb := range []string{"apply", "suggest"} {
		cmd.AddCommand(&cobra.Command{Use: verb, Hidden: true, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("policy %s: not in this build (session jails)", verb)
		}})
	}
	return cmd
}

func (g *globals) policyList() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "the policies that can be named", Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			list := policy.ListNames(library())
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
		Use: "show NAME|FILE", Short: "what a policy gives, weakenings first", Args: usageArgs(cobra.ExactArgs(1)), ValidArgsFunction: completePolicies,
		RunE: func(cmd *cobra.Command, args []string) error {
			cwd, _ := os.Getwd() // without one, paths are shown whole
			_, doc, err := openPolicy(args[0])
			if err == nil {
				fmt.Print(policy.Show(doc, cwd))
				return nil
			}
			if policy.IsFile(args[0]) {
				return err
			}
			var p api.Policy
			if g.client().Get(cmd.Context(), "/v1/policies/"+url.PathEscape(args[0]), nil, &p) != nil {
				return err
			}
			fmt.Print(p.Text)
			return nil
		},
	}
}

func (g *globals) policyCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "every error of a policy at once", Args: usageArgs(cobra.ExactArgs(1)),
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
			for _, n := range notes {
				fmt.Println("note:", n)
			}
			if !g.quiet {
				fmt.Println(f, "holds")
			}
			return nil
		},
	}
}

func (g *globals) policyTest() *cobra.Command {
	var replay string
	cmd := &cobra.Command{
		Use: "test NAME|FILE METHOD URL", Short: "what a policy says to one request, and why", Args: usageArgs(cobra.ExactArgs(3)),
		RunE: func(_ *cobra.Command, args []string) error {
			if replay != "" {
				return usageError{fmt.Errorf("--replay: this build does not have it yet")}
			}
			_, doc, err := openPolicy(args[0])
			if err != nil {
				return err
			}
			answer, err := policy.TestURL(doc, strings.ToUpper(args[1]), args[2])
			if err != nil {
				return usageError{err}
			}
			fmt.Println(answer.Text)
			if !answer.Allowed {
				return exitError(1)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&replay, "replay", "", "judge the requests of an audit file")
	cmd.Flags().MarkHidden("replay")
	return cmd
}

func (g *globals) policyTrust() *cobra.Command {
	return &cobra.Command{
		Use: "trust [FILE]", Short: "obey this content of a policy file from now on", Args: usageArgs(cobra.MaximumNArgs(1)),
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

func newInit(g *globals) *cobra.Command {
	var presets []string
	cmd := &cobra.Command{
		Use: "init", Short: "propose, write and trust a policy for this directory", Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			cwd, err := os.Getwd()
			if err != nil {
				return err
			}
			p, err := policy.Propose(cwd, presets...)
			if err != nil {
				return policyErrors(err)
			}
			for _, why := range p.Why {
				say("%s", why)
			}
			fmt.Print(p.Text)
			f, err := os.OpenFile(policy.LocalName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if os.IsExist(err) {
				return fmt.Errorf("./%s is there already: edit it, then: omnijailctl policy trust", policy.LocalName)
			}
			if err != nil {
				return err
			}
			_, err = f.WriteString(p.Text)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
			if err != nil {
				return err
			}
			return trustFile(g, "./"+policy.LocalName)
		},
	}
	cmd.Flags().StringArrayVar(&presets, "preset", nil, "a preset to start from")
	return cmd
}

func completePolicies(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, p := range policy.ListNames(library()) {
		if strings.HasPrefix(p.Name, prefix) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveDefault
}
