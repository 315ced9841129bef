package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/mountwatch"
	"github.com/omnijail/omnijail/internal/spawn"
)

// watchMounts sees that what hides and protects files in the jail stays there
// while the command runs. Without all of it the command does not start.
func (x *execution) watchMounts() error {
	if len(x.protections) == 0 {
		return nil
	}
	places := make([]string, len(x.protections))
	for i, p := range x.protections {
		places[i] = p.Path
	}
	watch, err := x.m.mounts.Add(x.command, places, x.mountsChanged)
	if errors.Is(err, mountwatch.ErrEnded) {
		return spawn.ErrInitGone
	}
	if err != nil {
		return err
	}
	x.undo.Add(watch.Close)
	x.mounts = watch
	return nil
}

// mountsChanged stops the command, looks, and ends it where a protection has gone
// and is not put back.
func (x *execution) mountsChanged(watch *mountwatch.Watch) {
	frozen := x.brake.hold()
	if errors.Is(frozen, errOver) {
		return
	}
	err := watch.Lost()
	if lost, _ := lostPlaces(err); len(lost) > 0 && frozen == nil && x.plan.Spec.Restage {
		err = x.putBackAll(watch, lost)
	}
	if err == nil && frozen == nil {
		if err := x.brake.release(); err != nil {
			x.m.cfg.Log.Error("jail: not thawed", "jail", x.j.id, "err", err)
		}
		return
	}
	x.brake.lock()
	if lost, _ := lostPlaces(err); len(lost) > 0 {
		x.replaced(lost, nil)
		return
	}
	var not *notRestagedError
	if errors.As(err, &not) {
		x.replaced(not.places, not.err)
		return
	}
	x.end(fmt.Sprintf("ended, because it could not be told whether protected files are still protected: %v", errors.Join(err, frozen)))
}

// notRestagedError says why what has lost its place was not put back.
type notRestagedError struct {
	places []string
	err    error
}

func (e *notRestagedError) Error() string { return e.err.Error() }

// putBackAll is restage for places of which lost are some, and says what it did.
func (x *execution) putBackAll(watch *mountwatch.Watch, lost []string) error {
	places, err := x.restage(watch)
	if err != nil {
		if len(places) == 0 {
			places = lost
		}
		return &notRestagedError{places, err}
	}
	x.sayRestaged(places)
	return nil
}

// sayAgain is how long nothing more is said of a file that is replaced often.
const sayAgain = time.Minute

// sayRestaged tells of files that were replaced while the command stood still.
func (x *execution) sayRestaged(places []string) {
	for _, p := range places {
		if !x.newlyRestaged(p) {
			continue
		}
		path := audit.Escape(p)
		x.tell(audit.Record{
			Code: string(audit.CodeReplaced), Path: path,
			Reason: path + " was replaced outside while the command ran: the command was stopped until it was protected again",
			Fix:    "look at the file before you use it: for a moment it was not protected",
		})
	}
}

// newlyRestaged reports whether the place has not been told of for a while.
func (x *execution) newlyRestaged(place string) bool {
	x.restaging.Lock()
	defer x.restaging.Unlock()
	if x.restaged == nil {
		x.restaged = map[string]time.Time{}
	}
	if time.Since(x.restaged[place]) < sayAgain {
		return false
	}
	x.restaged[place] = time.Now()
	return true
}

// replaced ends the command because files that were hidden from it or protected
// against it have been replaced outside: what is there now is neither. why says why
// it was not protected again where the policy asks for that. Mounts and names are
// watched apart, and the first that sees it says so.
func (x *execution) replaced(places []string, why error) {
	x.brake.lock()
	if x.lost.Swap(true) {
		return
	}
	for i, p := range places {
		places[i] = audit.Escape(p)
	}
	more := ""
	if n := len(places) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	reason := fmt.Sprintf("%s%s was replaced outside while the command ran, which takes its protection away: the command was stopped and ended", places[0], more)
	if why != nil {
		reason += ", because it could not be protected again: " + audit.Escape(why.Error())
	}
	const fix = "look at the file before you use it; then run the command again"
	x.tell(audit.Record{Code: string(audit.CodeReplaced), Path: places[0], Reason: reason, Fix: fix})
	x.end(reason)
}

// tell records something about the caller's files and shows it to the client.
func (x *execution) tell(rec audit.Record) {
	rec.Kind, rec.Decision = audit.KindDenial, audit.Deny
	rec.Jail, rec.UID, rec.Policy = x.j.id.String(), x.j.owner, x.j.spec().Policy.Name
	written, err := x.m.auditor.own(rec)
	if err != nil {
		x.m.cfg.Log.Error("audit: not recorded", "jail", x.j.id, "code", rec.Code, "err", err)
	}
	x.events.send(api.Event{Denied: &api.Denied{ID: written.ID, Kind: "file", What: rec.Path, Text: rec.Reason, Fix: rec.Fix}})
}
