//go:build !linux

package main

import "github.com/spf13/cobra"

// selftestVerbs says where the escape suite runs.
func selftestVerbs(*globals) []*cobra.Command {
	return []*cobra.Command{later("selftest", "the escape suite is for Linux nodes")}
}
