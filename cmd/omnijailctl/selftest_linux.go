package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/internal/selftest"
)

// selftestVerbs are the escape suite and what it runs inside jails.
func selftestVerbs(g *globals) []*cobra.Command {
	return []*cobra.Command{newSelftest(g), newProbe()}
}

func newSelftest(g *globals) *cobra.Command {
	var config selftest.Config
	var junit string
	var print bool
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "try to escape from jails on this node",
		Long: `Try to escape from jails on this node, in some 700 named ways, and say per
guarantee what was refused. What cannot be tried here is "not run", never passed.

With --policy the jails are that policy's; what the suite knows how to do only
under rules of its own (--print-policy) is not run where they are missing.

Exit codes: 0 nothing got out; 1 something did; 125 no jail could be started.`,
		Args: nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if print {
				fmt.Print(selftest.Policy(config.Upstream))
				return nil
			}
			if err := g.fillSelftest(&config); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			report, err := selftest.Run(ctx, config)
			if err != nil {
				return err
			}
			return g.showSelftest(report, junit)
		},
	}
	f := cmd.Flags()
	f.StringVar(&config.Policy, "policy", "", "a policy's `NAME`, or a FILE (default: one of the suite's own)")
	f.StringVar(&config.Backend, "backend", "", "what enforces the jails: the `NAME` of one in omnijailctl doctor")
	f.StringVar(&config.User, "user", "", "run as `USER`, a name, UID or UID:GID; root must say it and nobody else may")
	f.StringVar(&config.Upstream, "upstream", "", "a `NAME` that answers over https, for attempts that follow an answer")
	f.StringVar(&junit, "junit", "", "write JUnit's XML to `FILE`")
	f.BoolVar(&print, "print-policy", false, "print the suite's own policy, to be installed as the operator's")
	return cmd
}

// fillSelftest adds what the suite needs to know of this client.
func (g *globals) fillSelftest(config *selftest.Config) (err error) {
	if config.Program, err = os.Executable(); err != nil {
		return err
	}
	if config.Socket, err = filepath.Abs(g.socket); err != nil {
		return err
	}
	config.Globals = []string{"--quiet", "--socket", config.Socket}
	if policy.IsFile(config.Policy) {
		if config.Policy, err = filepath.Abs(config.Policy); err != nil {
			return err
		}
	}
	if os.Getuid() != 0 {
		return nil
	}
	if config.User == "" {
		return usageError{error: errors.New("selftest: root must say as whom jails run: --user NAME or UID[:GID]")}
	}
	config.UID, config.GID, err = idsOf(config.User)
	return err
}

// idsOf are the ids of NAME or UID[:GID].
func idsOf(text string) (uid, gid int, err error) {
	if u, err := user.Lookup(text); err == nil {
		uid, _ = strconv.Atoi(u.Uid)
		gid, _ = strconv.Atoi(u.Gid)
		return uid, gid, nil
	}
	first, second, has := strings.Cut(text, ":")
	if !has {
		second = first
	}
	if uid, err = strconv.Atoi(first); err == nil {
		gid, err = strconv.Atoi(second)
	}
	if err != nil {
		return 0, 0, usageError{error: fmt.Errorf("--user: %q is no user", text)}
	}
	return uid, gid, nil
}

func (g *globals) showSelftest(report selftest.Report, junit string) error {
	if junit != "" {
		f, err := os.Create(junit)
		if err != nil {
			return err
		}
		if err := errors.Join(report.WriteJUnit(f), f.Close()); err != nil {
			return err
		}
	}
	show := report.WriteText
	if g.json {
		show = report.WriteJSON
	}
	if err := show(os.Stdout); err != nil {
		return err
	}
	if !report.Holds() {
		return exitError(1)
	}
	return nil
}

// newProbe is what the escape suite starts inside jails.
func newProbe() *cobra.Command {
	var told, linger string
	cmd := &cobra.Command{
		Use: "probe NAME...", Hidden: true,
		RunE: func(_ *cobra.Command, names []string) error {
			if linger != "" {
				return selftest.Linger(linger)
			}
			var site selftest.Site
			if err := json.Unmarshal([]byte(told), &site); err != nil {
				return fmt.Errorf("--site: %w", err)
			}
			return selftest.Probe(site, names, os.Stdout)
		},
	}
	cmd.Flags().StringVar(&told, "site", "", "what is outside, as JSON")
	cmd.Flags().StringVar(&linger, "linger", "", "leave a process, or stay")
	return cmd
}
