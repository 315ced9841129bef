package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/stage"
)

// newNames is the scout that watches what a command may write for names that run
// by themselves outside.
type newNames struct {
	*caller.Watch
	done chan struct{} // closed when it has said its last
}

// watchNames has the scout that opened the files go on to watch them, while the jail
// is made.
func (x *execution) watchNames(ctx context.Context) error {
	roots, files := watchRoots(x.opened.Reply.Grants, x.opened.Grants)
	if len(roots) == 0 {
		x.opened.Unwatched()
		return nil
	}
	request := child.WatchRequest{
		Detect: x.plan.Spec.Detect, Restage: x.plan.Spec.Restage, GitConfig: x.plan.Spec.View.GitConfig, Home: x.plan.User.Home, Roots: roots,
	}
	for _, p := range x.plan.Spec.View.Protect {
		request.Protect = append(request.Protect, p.Pattern)
	}
	w, err := x.opened.Watch(ctx, request, files)
	if err != nil {
		return err
	}
	x.undo.Add(w.Close)
	x.watch = &newNames{Watch: w, done: make(chan struct{})}
	return nil
}

// watchRoots are the directories in which a command may make names, and those in
// which something is kept from it.
func watchRoots(grants []jail.OpenGrant, files []*os.File) (roots []child.WatchRoot, opened []*os.File) {
	own := func(path string) bool {
		return slices.ContainsFunc(grants, func(g jail.OpenGrant) bool { return g.Path == path })
	}
	for i, g := range grants {
		r := child.WatchRoot{Path: g.Path, Write: g.Write}
		for _, n := range slices.Concat(g.Held, g.ReadOnly, g.Masked) {
			r.Kept = append(r.Kept, n.Name)
		}
		for _, n := range g.Held {
			if !own(g.Path + "/" + n.Name) { // else it is a root itself
				r.Open = append(r.Open, n.Name)
			}
		}
		if g.Dir && (g.Write || len(r.Kept) > 0) {
			roots, opened = append(roots, r), append(opened, files[i])
		}
	}
	return roots, opened
}

// watchBegins waits until the watch stands, without which no command runs.
func (x *execution) watchBegins(ctx context.Context) error {
	if x.watch == nil {
		return nil
	}
	f, err := x.watch.Ready(ctx)
	if err != nil {
		return err
	}
	if f.Kind != child.WatchReady {
		return &jail.OpenError{Code: string(audit.CodeUnwatched), Exit: exitFailed, Reason: "the command was not started: " + unwatched(f), Fix: watchFix(f)}
	}
	go x.listen(x.watch)
	return nil
}

// listen does what the scout asks for, until it has no more to say.
func (x *execution) listen(w *newNames) {
	defer close(w.done)
	for {
		f, err := w.Next()
		if err == nil {
			err = x.obey(w, f)
		}
		switch {
		case errors.Is(err, errDone), errors.Is(err, errOver):
			return
		case err != nil:
			x.unwatch(fmt.Sprintf("new files are not watched any more: %v", err), "")
			return
		}
	}
}

var errDone = errors.New("the last look is done")

// obey takes one frame. The scout is the caller, so what it says can only stop and
// end the caller's own command.
func (x *execution) obey(w *newNames, f child.WatchFrame) error {
	switch f.Kind {
	case child.WatchAlarm:
		if err := x.brake.hold(); err != nil {
			if errors.Is(err, errOver) {
				return nil // it hears that it is over
			}
			return err
		}
		return w.Frozen()
	case child.WatchCalm:
		w.Calm()
		if err := x.brake.release(); err != nil {
			return err
		}
	case child.WatchMoved, child.WatchSeen, child.WatchStuck:
		if f.Class == child.ClassReplaced && x.plan.Spec.Restage {
			return x.keptAgain(w, f.Path)
		}
		return x.named(f)
	case child.WatchFailed:
		if f.Class == child.ClassReplaced {
			return errDone // said, and the command is being ended
		}
		x.unwatch(unwatched(f), watchFix(f))
		return errDone
	case child.WatchDone, child.WatchStays:
		return errDone
	default:
		return fmt.Errorf("unexpected frame %d", f.Kind)
	}
	return nil
}

// keptAgain has a name that was made anew outside protected again, or ends the
// command. It stands still.
func (x *execution) keptAgain(w *newNames, path string) error {
	err := errors.New("it was not there when the command was started")
	if slices.ContainsFunc(x.protections, func(p stage.Protection) bool { return p.Path == path }) {
		err = x.putBackAll(x.mounts, []string{path})
	}
	if err == nil {
		return w.Restaged()
	}
	x.replaced([]string{path}, err)
	return nil // the scout hears that it is over
}

// unwatch ends a command that cannot be watched any more. It never goes on.
func (x *execution) unwatch(reason, fix string) {
	if err := x.brake.hold(); errors.Is(err, errOver) {
		return
	}
	x.brake.lock()
	reason = audit.Escape(reason)
	x.tell(audit.Record{Code: string(audit.CodeUnwatched), Reason: "the command was ended: " + reason, Fix: fix})
	x.end("the command was ended: " + reason)
}

// lastLook has the scout look again when nothing of the command is left.
func (x *execution) lastLook() {
	if x.watch == nil {
		return
	}
	if err := x.watch.End(); err != nil {
		return // it has ended, and the command with it
	}
	select {
	case <-x.watch.done:
	case <-time.After(caller.SettleTime):
		x.tell(audit.Record{Code: string(audit.CodeUnwatched), Reason: "the last look for new files took too long: look at `git status` from a jail first"})
	}
}
