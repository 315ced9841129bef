package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/jail"
)

func newDoctor(g *globals) *cobra.Command {
	var require []string
	var tools bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "what this node can enforce, and how to mend the rest", Args: nArgs(0, 0),
		Long: `Say what this node can enforce, per backend and guarantee, and how to mend the rest.

Exit codes: 0 all is enforced; 1 jails run, with less than there could be, which is
named; 2 jails cannot run, or a guarantee of --require is missing.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, want := range require {
				if _, err := jail.ParseGuarantee(want); err != nil {
					return usageError{fmt.Errorf("--require: %w", err), "omnijailctl doctor --help"}
				}
			}
			var d api.Doctor
			if err := g.client().Get(cmd.Context(), "/v1/doctor", nil, &d); err != nil {
				return err
			}
			if tools && d.Exit < 2 {
				var err error
				if d.Tools, err = g.tryTools(cmd.Context()); err != nil {
					return err
				}
			}
			if g.json {
				if err := printJSON(d); err != nil {
					return err
				}
			} else {
				fmt.Print(d.Text)
				fmt.Print(linkAdvice("."))
				printTools(d.Tools)
			}
			if lacking := d.Lacking(require); len(lacking) > 0 {
				for _, want := range lacking {
					say("guarantee %q is missing", want)
				}
				return exitError(2)
			}
			if d.Exit == 0 && slices.ContainsFunc(d.Tools, func(t api.ToolReport) bool { return t.State == toolFailed }) {
				return exitError(1)
			}
			if d.Exit != 0 {
				return exitError(d.Exit)
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&require, "require", nil, "guarantees that must be there")
	cmd.Flags().BoolVar(&tools, "tools", false, "try your own git, gh, curl, node, python, java, go, cargo, npm and pip in jails")
	return cmd
}
