package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is a command line that makes no sense: exit 64.
type usageError struct {
	error
	hint string // what to type instead
}

// nArgs wants at least min arguments and at most max.
func nArgs(min, max int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < min:
			return usageError{fmt.Errorf("%s: an argument is missing", verb(cmd)), cmd.UseLine()}
		case len(args) > max:
			return usageError{fmt.Errorf("%s: %q is one argument too many", verb(cmd), args[max]), cmd.UseLine()}
		}
		return nil
	}
}

// group makes cmd a verb that only holds others: alone it lists them, and what
// it does not know is an error.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownVerb(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// verb is a command as messages call it.
func verb(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

func unknownVerb(parent *cobra.Command, name string) error {
	err := usageError{fmt.Errorf("there is no verb %q", name), parent.CommandPath() + " --help"}
	if parent.HasParent() {
		err.error = fmt.Errorf("%s: there is no verb %q", verb(parent), name)
	}
	parent.SuggestionsMinimumDistance = 2
	if like := parent.SuggestionsFor(name); len(like) > 0 {
		err.hint = "did you mean " + strings.Join(like, ", ") + "?"
	}
	return err
}

func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB...]", Short: "what a verb does and which flags it has",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownVerb(cmd, rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
