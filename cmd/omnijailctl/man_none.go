//go:build !man

package main

import "github.com/spf13/cobra"

// buildVerbs are none in the program that is shipped.
func buildVerbs(*cobra.Command) []*cobra.Command { return nil }
