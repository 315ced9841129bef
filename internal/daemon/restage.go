package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/mountwatch"
	"github.com/omnijail/omnijail/internal/seqpacket"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/internal/stage"
)

const (
	// restageTime bounds how long a command stands still for its protections. Some
	// programs remove a file before they write it anew.
	restageTime  = 5 * time.Second
	restageAgain = 20 * time.Millisecond
)

// errNotThere is for a protected file that was removed and is not there again yet.
var errNotThere = errors.New("it was removed, and has not come back")

// restage puts back what has lost its place to files that were replaced outside,
// while the command stands still. It returns what was put back. An error says that
// the command must not go on.
func (x *execution) restage(watch *mountwatch.Watch) (places []string, err error) {
	x.restaging.Lock() // mounts and names are watched apart
	defer x.restaging.Unlock()
	ctx, cancel := context.WithTimeout(x.j.ctx, restageTime)
	defer cancel()
	missing := false
	for {
		lost, err := lostPlaces(watch.Lost())
		if err != nil || len(lost) == 0 {
			return places, err
		}
		places = slices.Compact(slices.Sorted(slices.Values(append(places, lost...))))
		err = x.putBack(ctx, watch, lost)
		if err == nil {
			_, err = lostPlaces(watch.Renew()) // one that was replaced once more is lost again
		}
		switch {
		case ctx.Err() != nil && (missing || errors.Is(err, errNotThere)):
			return places, errNotThere
		case ctx.Err() != nil:
			return places, errors.New("it is replaced again and again")
		case errors.Is(err, errNotThere):
			missing = true
			wait(ctx, restageAgain)
		case err != nil:
			return places, err
		default:
			missing = false
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// lostPlaces takes an answer of a watch apart.
func lostPlaces(err error) ([]string, error) {
	var lost *mountwatch.LostError
	if errors.As(err, &lost) && len(lost.Places) > 0 {
		return lost.Places, nil
	}
	return nil, err
}

// putBack mounts anew at each of the places, in the jail's own namespace.
func (x *execution) putBack(ctx context.Context, watch *mountwatch.Watch, places []string) error {
	lost := make([]stage.Lost, 0, len(places))
	for _, p := range places {
		i := slices.IndexFunc(x.protections, func(o stage.Protection) bool { return o.Path == p })
		if i < 0 || !x.protections[i].Restorable(x.protections) {
			return errors.New("what lies below it is protected too")
		}
		lost = append(lost, stage.Lost{Protection: x.protections[i], On: watch.On(p)})
	}
	if err := x.sameAsAtStart(ctx); err != nil {
		return err
	}
	found, err := x.findAgain(ctx, lost)
	if err != nil {
		return err
	}
	defer seqpacket.CloseAll(found)
	for i, f := range found {
		if f == nil {
			return errNotThere
		}
		lost[i].At = f
	}
	err = spawn.Within(x.command, func() error { return stage.Restore(lost) })
	if errors.Is(err, unix.ENOENT) { // a name that has gone is no place to mount on
		return errNotThere
	}
	return err
}

// sameAsAtStart has a scout look at the caller's files as for a start, and refuses
// to go on where a start would protect what this one did not: a new configuration of
// git may include another file.
func (x *execution) sameAsAtStart(ctx context.Context) error {
	ready, err := x.m.takeScout()
	if err != nil {
		return err
	}
	defer ready.Close()
	p := x.plan
	now, err := caller.Open(ctx, caller.Options{
		Child: caller.Child{Init: x.m.cfg.Init, Caller: p.Caller, Group: ready.group}, Scout: ready.Scout,
		Listeners: []string{x.m.cfg.Settings().Socket},
		Request:   jail.OpenRequest{User: p.User, View: p.Spec.View, Path: pathOf(p), SystemDirs: systemDirs(p.Spec)},
	})
	if err != nil {
		return err
	}
	defer now.Close()
	return coveredBy(x.opened.Reply.Grants, now.Reply.Grants)
}

// coveredBy refuses grants of now with something read-only that was not so then. What
// would be hidden now and was not there then may be the jail's own.
func coveredBy(then, now []jail.OpenGrant) error {
	for _, g := range now {
		i := slices.IndexFunc(then, func(o jail.OpenGrant) bool { return o.Path == g.Path })
		if i < 0 || then[i].Dir != g.Dir || then[i].Write != g.Write {
			return fmt.Errorf("%s is not what it was", g.Path)
		}
		for _, n := range g.ReadOnly {
			if !slices.Contains(then[i].ReadOnly, n) {
				return fmt.Errorf("%s/%s would have to be protected now, and is not", g.Path, n.Name)
			}
		}
	}
	return nil
}

// findAgain has a scout open what is at the places now, from the jail's root.
func (x *execution) findAgain(ctx context.Context, lost []stage.Lost) (found []*os.File, err error) {
	var root *os.File
	err = spawn.Within(x.command, func() error {
		fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		root = os.NewFile(uintptr(fd), "jail")
		return err
	})
	if err != nil {
		return nil, err
	}
	defer root.Close()
	ready, err := x.m.takeScout()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	var request child.RestoreRequest
	for _, l := range lost {
		request.Places = append(request.Places, strings.TrimPrefix(l.Path, "/"))
		request.Dirs = append(request.Dirs, l.Dir)
	}
	return caller.FindAgain(ctx, caller.RestoreOptions{
		Child: caller.Child{Init: x.m.cfg.Init, Caller: x.plan.Caller, Group: ready.group}, Scout: ready.Scout, User: x.plan.User,
		Root: root, Request: request,
	})
}
