// Demo runs "gh api user" in a jail of a node of its own and shows what the
// upstream got, what the command could find, and what it could not reach. It
// needs root, gh, curl and the programs of this project beside itself, and leaves
// nothing behind. Without a network it works against a GitHub-like server on
// loopback; DEMO=live with GH_TOKEN asks the real one.
//
// The exit code is 0 only when every proof holds.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	scr := newScreen(os.Stdout)
	if err := run(ctx, scr); err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

// run builds the stage, plays the scenes and looks at what is left.
func run(ctx context.Context, scr *screen) error {
	if os.Geteuid() != 0 {
		return errors.New("omnijaild must be root: sudo make demo")
	}
	st, err := build(ctx, os.Getenv("DEMO") == "live")
	if err != nil {
		return err
	}
	scr.title("a command uses a login that it cannot read")
	played := play(ctx, st, scr)
	traces := st.traces()
	if err := errors.Join(played, st.close()); err != nil {
		return err
	}
	left := traces.left()
	scr.head("afterwards")
	scr.proof(len(left) == 0, "daemon stopped: no process, cgroup or file of it is left")
	for _, l := range left {
		scr.line(l)
	}
	return scr.verdict()
}

// play shows the scenes in the order in which a doubter asks.
func play(ctx context.Context, st *stage, scr *screen) error {
	for _, scene := range []func(context.Context, *stage, *screen) error{works, arrived, hidden, unreachable} {
		if err := scene(ctx, st, scr); err != nil {
			return err
		}
	}
	return nil
}
