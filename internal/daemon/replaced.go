package daemon

import (
	"errors"
	"fmt"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/mountwatch"
)

// watchMounts sees that what hides and protects files in the jail stays there
// while the command runs. Without all of it the command does not start.
func (x *execution) watchMounts() error {
	if len(x.protections) == 0 {
		return nil
	}
	watch, err := x.m.mounts.Add(x.command, x.protections, x.mountsChanged)
	if err != nil {
		return err
	}
	x.undo.Add(watch.Close)
	return nil
}

// mountsChanged stops the command, looks, and ends it where a protection has gone.
func (x *execution) mountsChanged(watch *mountwatch.Watch) {
	frozen := x.brake.hold()
	if errors.Is(frozen, errOver) {
		return
	}
	err := watch.Lost()
	if err == nil && frozen == nil {
		if err := x.brake.release(); err != nil {
			x.m.cfg.Log.Error("jail: not thawed", "jail", x.j.id, "err", err)
		}
		return
	}
	x.brake.lock()
	var lost *mountwatch.LostError
	if errors.As(err, &lost) && len(lost.Places) > 0 {
		x.replaced(lost.Places)
		return
	}
	x.end(fmt.Sprintf("ended, because it could not be told whether protected files are still protected: %v", errors.Join(err, frozen)))
}

// replaced ends the command because files that were hidden from it or protected
// against it have been replaced outside: what is there now is neither. Mounts and
// names are watched apart, and the first that sees it says so.
func (x *execution) replaced(places []string) {
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
