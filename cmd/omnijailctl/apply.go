package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/policy"
)

func (g *globals) policyApply() *cobra.Command {
	var id string
	var yes bool
	cmd := &cobra.Command{
		Use: "apply --jail ID NAME|FILE", DisableFlagsInUseLine: true, ValidArgsFunction: completePolicies,
		Short: "give a live jail another policy", Args: nArgs(1, 1),
		Long: `Give a live jail another policy: rules and credentials change as a whole, what the
new ones do not allow any more is cut, and placeholders of credentials that stay
remain valid. What a running jail was made by (paths, limits, variables) has to be
the same in both. What would change is shown, and asked about on a terminal;
without one, --yes has to say so. What "create --allow" added stays. Values of
new credentials come from their files and commands, and from variables here.`,
		Example: "  omnijailctl policy apply --jail j0123456789abcdef .omnijail.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if id == "" {
				return usageError{errors.New("policy apply: --jail says to which"), "omnijailctl policy apply --jail ID FILE"}
			}
			return g.apply(cmd.Context(), id, args[0], yes)
		},
	}
	cmd.Flags().StringVar(&id, "jail", "", "the jail's `ID`")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	complete(cmd, "jail", g.completeJails)
	return cmd
}

// apply shows what another policy changes, asks, and has just that done.
func (g *globals) apply(ctx context.Context, id, arg string, yes bool) error {
	change, secrets, err := g.changeTo(ctx, arg)
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range secrets {
			s.Close()
		}
	}()
	path := "/v1/jails/" + url.PathEscape(id) + "/policy"
	var out api.PolicyChanged
	change.DryRun = true
	if err := g.client().Put(ctx, path, change, &out); err != nil {
		return missing("jail", id, err)
	}
	if !g.json && !g.quiet {
		fmt.Print(changeText(out))
	}
	if !yes {
		if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stderr.Fd())) {
			return usageError{error: errors.New("policy apply: there is no terminal to ask on: --yes puts it in force")}
		}
		if !confirmed(os.Stdin, os.Stderr, fmt.Sprintf("put this in force in jail %s?", out.Jail)) {
			return exitError(1)
		}
	}
	change.DryRun, change.From = false, out.From
	if len(secrets) > 0 {
		err = g.changeWith(ctx, id, change, secrets)
		out.Applied = true
	} else {
		err = g.client().Put(ctx, path, change, &out)
	}
	if err != nil {
		return missing("jail", id, err)
	}
	if g.json {
		return printJSON(out)
	}
	return nil
}

// changeWith hands the values of env sources over with the request.
func (g *globals) changeWith(ctx context.Context, id string, change api.PolicyChange, secrets []*os.File) error {
	s, err := g.client().Change(ctx, id, change, secrets)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		switch ev, _, err := s.Next(); {
		case err != nil:
			return errors.New("omnijaild ended before it said what became of the change")
		case ev.Exit != nil && ev.Exit.Code != 0:
			return &api.Error{Code: "not_changed", Reason: ev.Exit.Reason, Fix: ev.Exit.Fix}
		case ev.Exit != nil:
			return nil
		}
	}
}

// changeTo is the request for the policy that arg names: found, trusted and
// flattened as exec does it, with the values of its env sources that are set.
func (g *globals) changeTo(ctx context.Context, arg string) (api.PolicyChange, []*os.File, error) {
	none := api.PolicyChange{}
	cwd, err := (&execFlags{}).workingDirectory()
	if err != nil {
		return none, nil, fmt.Errorf("the working directory is gone: %w", err)
	}
	if policy.IsFile(arg) {
		if arg, err = filepath.Abs(arg); err != nil {
			return none, nil, err
		}
	}
	needs := &environment{}
	raw, theirs, err := g.sendPolicy(arg, cwd, needs)
	if err == nil && theirs {
		err = g.needsOf(ctx, raw, needs)
	}
	if err != nil {
		return none, nil, err
	}
	var env api.ExecRequest
	needs.fill(&env)
	secrets, err := openSecrets(&env)
	if err != nil {
		return none, nil, err
	}
	return api.PolicyChange{Policy: raw, Context: env.Context, SecretFDs: env.SecretFDs}, secrets, nil
}

// needsOf asks the daemon what a policy of its own needs: the one that name, a JSON
// string, says, or its default.
func (g *globals) needsOf(ctx context.Context, name json.RawMessage, needs *environment) error {
	called := "default"
	if name != nil {
		if err := json.Unmarshal(name, &called); err != nil {
			return err
		}
	}
	var p api.Policy
	err := g.client().Get(ctx, "/v1/policies/"+url.PathEscape(called), nil, &p)
	var refused *api.Error
	if name == nil && errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil // it has none, and then the preset "offline", which needs nothing
	}
	needs.pass = slices.Concat(needs.pass, p.Passthrough, p.CommandEnv)
	needs.secrets = append(needs.secrets, p.SecretEnv...)
	return err
}

// changeText says what changes, what opens most first.
func changeText(c api.PolicyChanged) string {
	var b strings.Builder
	fmt.Fprintf(&b, "policy of jail %s: %q\n", c.Jail, c.Policy)
	nothing := true
	for _, list := range []struct {
		sign  string
		lines []string
	}{
		{"! ", c.Settings}, {"+ credential ", c.Binds}, {"~ credential ", c.BindsOtherwise}, {"+ ", c.AllowsMore},
		{"- ", c.AllowsLess}, {"- credential ", c.Unbinds},
	} {
		for _, l := range list.lines {
			nothing = false
			fmt.Fprintf(&b, "%s%s\n", list.sign, l)
		}
	}
	if nothing {
		b.WriteString("no rule and no credential changes\n")
	}
	return b.String()
}

// confirmed asks a yes-or-no question; anything but yes is no.
func confirmed(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprintf(out, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	word := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (word == "y" || word == "yes")
}
