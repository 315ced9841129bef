package main

import (
	"context"
	"fmt"
)

// runDetached starts a command in a session jail and prints the name by which logs
// and attach find it.
func runDetached(ctx context.Context, g *globals, f *execFlags, argv []string) error {
	whole, err := f.request(argv)
	if err != nil {
		return err
	}
	req := f.inside(whole)
	if f.tty {
		req.TTY = terminalSize()
	}
	started, err := g.client().Detach(ctx, f.jail, req)
	if err != nil {
		return missing("jail", f.jail, err)
	}
	if g.json {
		return printJSON(started)
	}
	fmt.Println(started.Name)
	return nil
}
