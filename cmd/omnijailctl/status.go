package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
)

func printJSON(v any) error {
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func newVersion(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "the versions of client and daemon", Args: nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := map[string]any{"client": api.BuildVersion}
			var v api.Version
			err := g.client().Get(cmd.Context(), "/v1/version", nil, &v)
			if err == nil {
				out["daemon"], out["api"] = v.Version, v.API
			}
			if g.json {
				return errors.Join(printJSON(out), err)
			}
			fmt.Println("omnijailctl", api.BuildVersion)
			if err == nil {
				fmt.Println("omnijaild", v.Version)
			}
			return err
		},
	}
}

func newDrain(g *globals) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "drain", Short: "refuse new jails and wait for the running ones (root)", Args: nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			req := api.Drain{}
			if timeout > 0 {
				req.Timeout = timeout.String()
			}
			return g.client().Post(cmd.Context(), "/v1/drain", req, nil)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after `TIME`: 90s, 5m")
	return cmd
}
