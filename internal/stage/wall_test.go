package stage

import (
	"slices"
	"testing"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

// TestPlacesAreNoWiderThanTheView: nothing is writable behind the wall that no
// grant and no file system of the jail's own makes so.
func TestPlacesAreNoWiderThanTheView(t *testing.T) {
	l := Layout{
		Home:   "/home/u",
		System: []System{{Path: "/usr", Source: "/usr"}, {Path: "/bin", Link: "usr/bin"}},
		Grants: []jail.OpenGrant{
			{Path: "/srv/ro", Dir: true},
			{Path: "/srv/rw", Dir: true, Write: true},
			{Path: "/srv/file"},
			{Path: "/srv/log", Write: true},
		},
	}
	places := l.Places()
	find := func(path string) child.Place {
		i := slices.IndexFunc(places, func(p child.Place) bool { return p.Path == path })
		if i < 0 {
			t.Fatalf("no place %s", path)
		}
		return places[i]
	}
	for path, want := range map[string]child.Place{
		"/srv/ro":   {Path: "/srv/ro", Rights: child.PlaceRead | child.PlaceExecute},
		"/srv/file": {Path: "/srv/file", File: true, Rights: child.PlaceRead | child.PlaceExecute},
		"/bin":      {Path: "/bin", Rights: child.PlaceRead | child.PlaceExecute},
		"/":         {Path: "/", Rights: child.PlaceList},
		"/etc":      {Path: "/etc", Rights: child.PlaceRead},
	} {
		if got := find(path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
	for _, p := range places {
		own := slices.Contains([]string{"/tmp", "/dev/shm", l.Home, "/srv/rw", "/srv/log"}, p.Path)
		if changes := p.Rights&child.PlaceChange != 0; changes != own {
			t.Errorf("%s may be changed: %v", p.Path, changes)
		}
		if use := p.Rights&child.PlaceUse != 0; use != (p.Path == "/dev" || p.Path == "/proc") {
			t.Errorf("%s may be written to: %v", p.Path, use)
		}
	}
}
