//go:build man

package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// buildVerbs are those of the build alone. What writes man pages would take half a
// millisecond of every start to initialise, so that `make build` has a program of
// its own for it.
func buildVerbs(root *cobra.Command) []*cobra.Command {
	return []*cobra.Command{{
		Use: "man DIR", Hidden: true, Args: nArgs(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "omnijail", Manual: "omnijail"}, args[0])
		},
	}}
}
