package lowering

import (
	"fmt"
	"path"
	"slices"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/stage"
)

// sight is what a command can do with a file outside that has some path.
type sight struct{ read, write bool }

// mount is one place of a plan's, in the order of mounting, and what shows there.
type mount struct {
	path string
	shows
}

// shows says what a mount has to show.
type shows uint8

const (
	ours     shows = iota // nothing of the user's: empty, the jail's own, or the node's
	readable              // the user's file of that path
	writable
)

// mounts are the mounts of a plan that decide what is seen.
func mounts(plan stage.Plan, grants []jail.OpenGrant) (out []mount) {
	tree := func(grant int) shows {
		if grants[grant].Write {
			return writable
		}
		return readable
	}
	for _, s := range plan.Steps {
		switch s.Op {
		case stage.OpGrant, stage.OpNest:
			out = append(out, mount{s.Path, tree(s.Grant)})
		case stage.OpPin:
			out = append(out, mount{s.Path, readable})
		case stage.OpHold:
			held := tree(s.Grant)
			if slices.ContainsFunc(grants[s.Grant].ReadOnly, func(n jail.OpenName) bool {
				return jail.Within(path.Join(grants[s.Grant].Path, n.Name), s.Path)
			}) {
				held = readable // a layer of what is pinned
			}
			out = append(out, mount{s.Path, held})
		case stage.OpTmpfs, stage.OpBind, stage.OpHide:
			out = append(out, mount{s.Path, ours})
		case stage.OpFrame:
			out = append(out, mount{s.Path, ours})
			for _, in := range s.Inner {
				out = append(out, mount{path.Join(s.Path, in.Place), tree(in.Grant)})
			}
		}
	}
	return out
}

// seen is what the mounts show at a path: the deepest of them decides, and of two
// at one place the later.
func seen(all []mount, file string) sight {
	var top mount
	for _, m := range all {
		if jail.Within(m.path, file) && len(m.path) >= len(top.path) {
			top = m
		}
	}
	return sight{top.shows >= readable, top.shows == writable}
}

// covering says where something of the user's is mounted over what was mounted
// below it before: seen would take the deeper one for what decides.
func covering(all []mount) error {
	for i, m := range all {
		if m.shows == ours {
			continue // hides what is below, at most
		}
		if at := slices.IndexFunc(all[:i], func(o mount) bool { return o.path != m.path && jail.Within(m.path, o.path) }); at >= 0 {
			return fmt.Errorf("%s lies over %s", m.path, all[at].path)
		}
	}
	return nil
}

// walled is what the wall lets a command do at a path: all that the places at and
// above it give.
func walled(places []child.Place, file string) (out sight) {
	for _, p := range places {
		if p.Path == file || !p.File && jail.Within(p.Path, file) {
			out.read = out.read || p.Rights&child.PlaceRead != 0
			out.write = out.write || p.Rights&(child.PlaceChange|child.PlaceUse) != 0
		}
	}
	return out
}
