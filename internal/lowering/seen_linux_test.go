package lowering

import (
	"fmt"
	"slices"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/stage"
)

// sight is what a command can do with a file outside that has some path.
type sight struct{ read, write bool }

// seen is what the mounts of a plan show at a path: the deepest of them decides,
// and of two at one place the later. What is not the user's own file there (an
// empty file of ours, the jail's own tmpfs, the node's /usr) is not seen.
func seen(plan stage.Plan, grants []jail.OpenGrant, path string) sight {
	var at string
	var out sight
	for _, s := range plan.Steps {
		var here sight
		switch s.Op {
		case stage.OpGrant, stage.OpNest:
			here = sight{true, grants[s.Grant].Write}
		case stage.OpPin:
			here = sight{read: true}
		case stage.OpTmpfs, stage.OpBind, stage.OpHide, stage.OpDevice, stage.OpPts:
		default:
			continue // no mount, or one of a place onto itself as it is
		}
		if jail.Within(s.Path, path) && len(s.Path) >= len(at) {
			at, out = s.Path, here
		}
	}
	return out
}

// covering says where a plan mounts something over what it mounted below before:
// seen would take the deeper one for visible.
func covering(plan stage.Plan) error {
	var before []string
	for _, s := range plan.Steps {
		switch s.Op {
		case stage.OpGrant, stage.OpNest, stage.OpTmpfs, stage.OpBind:
		case stage.OpPin, stage.OpHide:
			before = append(before, s.Path) // takes along what is mounted below, or hides it
			continue
		default:
			continue
		}
		if i := slices.IndexFunc(before, func(p string) bool { return jail.Within(s.Path, p) }); i >= 0 {
			return fmt.Errorf("%s lies over %s", s, before[i])
		}
		before = append(before, s.Path)
	}
	return nil
}

// walled is what the wall lets a command do at a path: all that the places at and
// above it give.
func walled(places []child.Place, path string) (out sight) {
	for _, p := range places {
		if p.Path == path || !p.File && jail.Within(p.Path, path) {
			out.read = out.read || p.Rights&child.PlaceRead != 0
			out.write = out.write || p.Rights&(child.PlaceChange|child.PlaceUse) != 0
		}
	}
	return out
}
