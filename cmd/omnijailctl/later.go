package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// later names the verbs that this build does not have. Typing one is an error
// that says so, never a silent nothing.
var later = map[string]string{
	"create":   "session jails",
	"attach":   "session jails",
	"logs":     "session jails",
	"rm":       "session jails",
	"rearm":    "session jails",
	"creds":    "credentials of session jails",
	"cache":    "caches",
	"selftest": "the escape suite",
	"box":      "remote boxes",
	"sandbox":  "remote boxes",
	"hosts":    "managed hosts",
}

func laterVerbs() (cmds []*cobra.Command) {
	for verb, what := range later {
		cmds = append(cmds, &cobra.Command{
			Use: verb, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return fmt.Errorf("%s: not in this build (%s)", verb, what)
			},
		})
	}
	return cmds
}
