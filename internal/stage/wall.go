package stage

import "github.com/omnijail/omnijail/internal/child"

const (
	readOnly = child.PlaceRead | child.PlaceExecute
	writable = readOnly | child.PlaceChange
)

// Places says what a command in l works with, for the wall behind the mounts.
// The mounts are narrower: a name that is read-only or hidden inside a writable
// grant cannot be told to Landlock.
//
// A process writes about itself in /proc (oom_score_adj, comm), where no rule can
// name the processes to come; what else is there is protected by mounts and modes.
func (l Layout) Places() []child.Place {
	places := []child.Place{
		{Path: "/", Rights: child.PlaceList},
		{Path: "/etc", Rights: child.PlaceRead},
		{Path: "/run", Rights: child.PlaceRead},
		{Path: "/proc", Rights: child.PlaceRead | child.PlaceUse},
		{Path: "/dev", Rights: child.PlaceRead | child.PlaceUse},
		{Path: "/dev/shm", Rights: writable},
		{Path: "/tmp", Rights: writable},
		{Path: l.Home, Rights: writable},
	}
	for _, s := range l.System {
		places = append(places, child.Place{Path: s.Path, Rights: readOnly}) // a link stands for its target
	}
	for _, g := range l.Grants {
		p := child.Place{Path: g.Path, File: !g.Dir, Rights: readOnly}
		if g.Write {
			p.Rights = writable
		}
		places = append(places, p)
	}
	return places
}
