package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan writes the man pages at build time; the reader of one has no use for it.
func newMan(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Hidden: true, Args: nArgs(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "omnijail", Manual: "omnijail"}, args[0])
		},
	}
}
