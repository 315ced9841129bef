package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/policy"
)

// run is one exec under way.
type run struct {
	g      *globals
	s      *api.Session
	std    *stdio
	term   terminal
	said   string // the last refusal that was shown
	status *status
}

// runExec is the main job: choose the policy, ask the daemon, hand over the
// descriptors, and stand in for the command until it ends.
func runExec(ctx context.Context, g *globals, f *execFlags, argv []string) error {
	if f.detach {
		return runDetached(ctx, g, f, argv)
	}
	r := &run{g: g}
	if f.statusFD >= 0 {
		var err error
		if r.status, err = openStatus(f.statusFD); err != nil {
			return usageError{error: err}
		}
		r.g = &globals{socket: g.socket, quiet: true} // who reads the status reads everything there
	}
	err := r.start(ctx, f, argv)
	if err == nil {
		defer r.s.Close()
		err = r.wait()
	}
	return r.status.failed(err)
}

func (r *run) start(ctx context.Context, f *execFlags, argv []string) error {
	req, err := f.request(argv)
	if err != nil {
		return err
	}
	if f.jail != "" {
		return r.join(ctx, f, req)
	}
	if policy.IsFile(f.policy) { // where we are, whatever --cwd says
		if f.policy, err = filepath.Abs(f.policy); err != nil {
			return err
		}
	}
	if req.Policy, err = choosePolicy(r.g, f, &req); err != nil {
		return err
	}
	if r.std, err = openStdio(f.ttyMode()); err != nil {
		return err
	}
	defer r.std.close()
	if r.std.tty {
		req.TTY = terminalSize()
	}
	r.s, err = withEnvironment(req, func(req api.ExecRequest, secrets []*os.File) (*api.Session, error) {
		return r.g.client().Exec(ctx, req, r.std.pass, secrets)
	})
	if err != nil {
		return err
	}
	r.std.handedOver()
	return nil
}

// join starts the command in a jail that is there already.
func (r *run) join(ctx context.Context, f *execFlags, whole api.ExecRequest) (err error) {
	req := f.inside(whole)
	if r.std, err = openStdio(f.ttyMode()); err != nil {
		return err
	}
	defer r.std.close()
	if r.std.tty {
		req.TTY = terminalSize()
	}
	if r.s, err = r.g.client().ExecIn(ctx, f.jail, req, r.std.pass); err != nil {
		return missing("jail", f.jail, err)
	}
	r.std.handedOver()
	return nil
}

// wait relays signals and events until the exit, and returns it as an exitError.
func (r *run) wait() error {
	defer r.term.restore()
	stop := r.relaySignals()
	defer stop()
	for {
		ev, file, err := r.s.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ECONNRESET) {
			err = errors.New("omnijaild ended before the command did; the command was ended with it")
		}
		if err != nil {
			return err
		}
		if ev.Exit != nil {
			return r.finish(ev)
		}
		r.status.write(ev)
		if file != nil {
			r.term.held = r.notStopped
			r.term.attach(file)
		}
		r.show(ev)
	}
}

func (r *run) show(ev api.Event) {
	switch {
	case ev.Started != nil:
		r.started(ev.Started)
	case ev.Denied != nil && !r.g.quiet:
		text, hints := denied(ev.Denied)
		if text == r.said {
			return // the same again, under another id
		}
		r.said = text
		r.line(text)
		for _, h := range hints {
			r.hint(h)
		}
	case ev.Note != nil && !r.g.quiet:
		r.line(ev.Note.Text)
		r.hint(ev.Note.Hint)
	}
}

// started says what no policy named and the command sees all the same, and on demand
// all else.
func (r *run) started(s *api.Started) {
	if r.g.verbose {
		r.line(fmt.Sprintf("jail %s, %s, policy %s", s.Jail, s.Backend, s.Policy))
	}
	for _, p := range s.Exposed {
		if !r.g.quiet {
			r.line("shown for the command, read-only: " + p)
		}
	}
	for _, n := range s.Notes {
		if r.g.verbose {
			r.line(n)
		}
	}
}

// notStopped is said of Ctrl-Z.
func (r *run) notStopped() {
	if r.g.quiet {
		return
	}
	r.line("Ctrl-Z stops nothing here: the command leads its terminal's session, and the kernel stops no leader")
	r.hint("start a shell in the jail and the command in that: omnijailctl exec -- bash")
}

// line ends in CR LF while the terminal is raw.
func (r *run) line(text string) { fmt.Fprintf(os.Stderr, "omnijailctl: %s%s", text, r.eol()) }

func (r *run) hint(text string) {
	if text != "" {
		fmt.Fprintf(os.Stderr, "hint: %s%s", text, r.eol())
	}
}

func (r *run) eol() string {
	if r.term.raw() {
		return "\r\n"
	}
	return "\n"
}

// finish ends what was copied before it says how the command ended.
func (r *run) finish(ev api.Event) error {
	if r.std.tty {
		r.term.drain()
	}
	if err := r.std.drain(); err != nil {
		return fmt.Errorf("the command's output is incomplete: %w", err)
	}
	r.status.write(ev)
	if ev.Exit.Reason != "" && ev.Exit.Reason != r.said && r.status == nil {
		say("%s", ev.Exit.Reason)
		if ev.Exit.Fix == "" && ev.Exit.ID != "" {
			ev.Exit.Fix = "omnijailctl why " + ev.Exit.ID
		}
		hint(ev.Exit.Fix)
	}
	if ev.Exit.Code == 0 {
		return nil
	}
	return exitError(ev.Exit.Code)
}

// relaySignals passes on what a shell or a supervisor sends us. Stopping the
// relay is part of the exit.
func (r *run) relaySignals() (stop func()) {
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-ch:
				r.relay(sig.(syscall.Signal))
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
	}
}

func (r *run) relay(sig syscall.Signal) {
	if sig != syscall.SIGWINCH && r.term.detach != nil { // of a terminal that was closed, above all
		r.term.detach()
	}
	if sig == syscall.SIGWINCH {
		if r.std.tty {
			r.s.Control(api.Control{Resize: terminalSize()})
		}
		return
	}
	r.s.Control(api.Control{Signal: int(sig)})
}
