package stage

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

const rootSize = 64 << 20 // bytes

// Root is a jail's root on which some steps were taken ahead of time. Most of a
// jail's /etc is the same for every jail of the node; making it is most of the
// work of staging. A Root serves one Apply.
type Root struct {
	mount int
	made  map[stepKey]Step
}

// Prepare makes a root with what l says about directories, files and links. It
// mounts nothing, and may run on any thread. l has neither home nor grants: only
// what every jail has.
func Prepare(l Layout) (*Root, error) {
	p := &planner{layout: l, made: map[string]bool{"/": true}}
	for _, f := range []func() error{p.system, p.composed, p.devices} {
		if err := f(); err != nil {
			return nil, err
		}
	}
	mount, err := newTmpfs(0o755, 0, 0, rootSize, quiet)
	if err != nil {
		return nil, err
	}
	s := &staging{root: mount, bare: -1}
	r := &Root{mount: mount, made: map[stepKey]Step{}}
	for _, step := range p.steps {
		if !step.makes() {
			continue
		}
		err := s.step(step)
		if err == nil && step.Op != OpLink {
			// A thread of the daemon's has the daemon's umask.
			err = unix.Fchmodat(mount, strings.TrimPrefix(step.Path, "/"), bits(step.Mode), 0)
		}
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("prepare %s: %w", step, err)
		}
		r.made[step.key()] = step
	}
	return r, nil
}

// Close drops the root unless it was used.
func (r *Root) Close() error { return unix.Close(r.mount) }

// fits reports whether everything on the root is in the plan just so. A file is
// the same when it has the very bytes, not equal ones: comparing would cost more
// than writing.
func (r *Root) fits(steps []Step) bool {
	found := 0
	for _, s := range steps {
		if m, ok := r.made[s.key()]; ok {
			if !same(m, s) {
				return false
			}
			found++
		}
	}
	return found == len(r.made)
}

func same(a, b Step) bool {
	data := len(a.Data) == len(b.Data) && (len(a.Data) == 0 || &a.Data[0] == &b.Data[0])
	return data && a.Op == b.Op && a.Target == b.Target && a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID && a.Size == b.Size
}

// has reports whether s was taken ahead of time.
func (r *Root) has(s Step) bool {
	if r == nil {
		return false
	}
	_, ok := r.made[s.key()]
	return ok
}
