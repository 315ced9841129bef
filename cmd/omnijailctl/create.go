package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/policy"
)

func newCreate(g *globals) *cobra.Command {
	f := &execFlags{}
	cmd := &cobra.Command{
		Use: "create [flags] [-- COMMAND [ARG...]]", DisableFlagsInUseLine: true,
		Short: "make a jail for several commands, and print its ID",
		Long: `Make a jail that takes commands until omnijailctl rm, its max_age (24 hours
unless the policy says otherwise) or the end of the daemon. Its commands share
the network, the scratch home, /tmp and the credentials; each has its own
processes. The policy is chosen as exec chooses one, once.

A COMMAND runs detached: omnijailctl logs shows what it wrote, attach joins the
terminal that --tty gives it, and the jail stays when it ends.`,
		Example: "  id=$(omnijailctl create --write . --preset npm)\n  omnijailctl exec --jail $id -- npm test\n  omnijailctl rm $id",
		RunE:    func(cmd *cobra.Command, argv []string) error { return runCreate(cmd.Context(), g, f, argv) },
	}
	cmd.Flags().SetInterspersed(false)
	f.describeJail(cmd)
	s := cmd.Flags()
	s.StringVar(&f.cwd, "cwd", "", "working directory `DIR` of its commands (default: here)")
	s.StringArrayVar(&f.env, "env", nil, "set a variable for its commands: `K=V`, or K for the caller's own value")
	s.BoolVar(&f.tty, "tty", false, "give COMMAND a terminal")
	s.DurationVar(&f.timeout, "timeout", 0, "stop each command after `TIME`: 90s, 5m")
	return cmd
}

func runCreate(ctx context.Context, g *globals, f *execFlags, argv []string) error {
	req, err := f.request(argv)
	if err != nil {
		return err
	}
	if policy.IsFile(f.policy) {
		if f.policy, err = filepath.Abs(f.policy); err != nil {
			return err
		}
	}
	if req.Policy, err = choosePolicy(g, f, &req); err != nil {
		return err
	}
	if f.tty {
		req.TTY = terminalSize()
	}
	r := &run{g: g}
	r.s, err = withEnvironment(req, func(req api.ExecRequest, secrets []*os.File) (*api.Session, error) {
		return g.client().Create(ctx, req, secrets)
	})
	if err != nil {
		return err
	}
	defer r.s.Close()
	id, err := r.made()
	if err != nil {
		return err
	}
	if !g.json {
		fmt.Println(id)
		return nil
	}
	var j api.Jail
	if err := g.client().Get(ctx, "/v1/jails/"+url.PathEscape(id), nil, &j); err != nil {
		return err
	}
	return printJSON(j)
}

// made shows what is said while a jail is made, and returns its ID.
func (r *run) made() (id string, err error) {
	for {
		ev, _, err := r.s.Next()
		switch {
		case err != nil:
			return "", errors.New("omnijaild ended before the jail was made")
		case ev.Exit != nil && ev.Exit.Code != 0:
			return "", &api.Error{Code: "not_made", Reason: ev.Exit.Reason, Fix: ev.Exit.Fix}
		case ev.Exit != nil:
			return id, nil
		case ev.Started != nil:
			id = ev.Started.Jail
		}
		r.show(ev)
	}
}
