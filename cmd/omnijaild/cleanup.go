package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/omnijail/omnijail/internal/cgroup"
)

// sweep removes what a daemon that was killed left: the processes and cgroups
// of its instance, and its files in the run directory. Everything else of a jail
// ends with its processes. It takes the
// daemon's lock, so it never acts beside a live one.
func sweep(args []string) error {
	o, err := parseOptions("cleanup", args)
	if err != nil {
		return err
	}
	set, err := o.load()
	if err != nil {
		return err
	}
	if _, err := os.Stat(set.RunDir); err != nil {
		return nil // nothing was ever started there
	}
	h := &house{}
	defer h.close()
	if err := h.lock(set); err != nil {
		return err
	}
	hierarchy, err := cgroup.Find()
	if err != nil {
		return err
	}
	id := instanceID(set)
	if o.dryRun {
		fmt.Printf("would end and remove the cgroups of omnijail-%s below %s\n", id, hierarchy.Mount())
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	return errors.Join(hierarchy.Sweep(ctx, id), tidy(set))
}
