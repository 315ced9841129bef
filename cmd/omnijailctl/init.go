package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/policy"
)

func newInit(g *globals) *cobra.Command {
	var presets []string
	cmd := &cobra.Command{
		Use: "init", Short: "propose, write and trust a policy for this directory", Args: nArgs(0, 0),
		Long: `Propose, write and trust a policy for this directory, ./.omnijail.yaml, from what
lies here: a git remote on GitHub, the files of package managers. Each line of it
is explained. A policy that is there already stays.`,
		RunE: func(*cobra.Command, []string) error { return initPolicy(g, presets) },
	}
	cmd.Flags().StringArrayVar(&presets, "preset", nil, "extend the built-in policy `NAME` too")
	complete(cmd, "preset", completePresets)
	return cmd
}

func initPolicy(g *globals, presets []string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	if within(homeDir(), cwd) {
		return &api.Error{Code: "home", Reason: cwd + " is or contains your home directory, in whose place a jail has an empty one", Fix: "go to a project's directory first"}
	}
	for _, name := range presets {
		if _, err := policy.Preset(name); err != nil {
			return policyErrors(err)
		}
	}
	p, err := policy.Propose(cwd, presets...)
	if err != nil {
		return policyErrors(err)
	}
	if !g.quiet {
		for _, why := range p.Why {
			say("%s", why)
		}
		fmt.Print(p.Text)
	}
	if err := writeNew(policy.LocalName, p.Text); err != nil {
		return err
	}
	return trustFile(g, "./"+policy.LocalName)
}

// within reports whether dir is p or contains it.
func within(p, dir string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}

// writeNew writes a file that is not there yet, and leaves none behind when that
// fails half-way.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if os.IsExist(err) {
		return fmt.Errorf("./%s is there already: edit it, then: omnijailctl policy trust", name)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(name)
	}
	return err
}
