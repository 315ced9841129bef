package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/policy"
)

// newCompletion prints what makes a shell complete our command lines.
func newCompletion(root *cobra.Command) *cobra.Command {
	shells := []cobra.Completion{"bash", "fish", "zsh"}
	return &cobra.Command{
		Use: "completion bash|fish|zsh", Short: "print a shell's completion script", Args: nArgs(1, 1), ValidArgs: shells,
		Long: `Print a shell's completion script. The packages install it; for one shell of yours:

  source <(omnijailctl completion bash)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(os.Stdout, true)
			case "fish":
				return root.GenFishCompletion(os.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(os.Stdout)
			}
			return usageError{fmt.Errorf("no completion for %q", args[0]), cmd.UseLine()}
		},
	}
}

func completePolicies(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, p := range policy.ListNames(library()) {
		if p.Problem == "" {
			names = append(names, p.Name)
		}
	}
	return with(prefix, names), cobra.ShellCompDirectiveDefault // or a file
}

func completePresets(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return with(prefix, policy.Presets()), cobra.ShellCompDirectiveNoFileComp
}

// completeJails offers the caller's live jails. A daemon that does not answer at
// once offers none.
func (g *globals) completeJails(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var jails []api.Jail
	if g.client().Get(ctx, "/v1/jails", nil, &jails) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []cobra.Completion
	for _, j := range jails {
		ids = append(ids, j.ID)
	}
	return with(prefix, ids), cobra.ShellCompDirectiveNoFileComp
}

func with(prefix string, names []string) (out []cobra.Completion) {
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			out = append(out, n)
		}
	}
	return out
}

// complete has f complete the values of a flag that cmd has.
func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(fmt.Sprintf("omnijail: internal error: complete --%s: %v", flag, err))
	}
}
