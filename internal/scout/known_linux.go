package scout

import (
	"fmt"
	"strings"
)

// findAll looks through the writable grants: where they are known, at what has
// changed, and in any doubt at all of them anew.
func (s *session) findAll() (found []*finder, err error) {
	var gs []*grant
	for _, g := range s.grants {
		if g.dir && g.write {
			gs = append(gs, g)
		}
	}
	if s.desk.knows(s, gs) {
		for _, g := range gs {
			f, err := s.findAgain(g, s.desk.surveys[g.path])
			if err != nil {
				break
			}
			found = append(found, f)
		}
		if len(found) == len(gs) && !s.desk.notifier.doubt {
			s.desk.notifier.stale = nil
			return found, nil
		}
	}
	s.desk.clear()
	found = nil
	for _, g := range gs {
		f, err := s.find(g)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}

// knows reports whether exactly these grants are known, and takes in what has
// happened in them.
func (d *desk) knows(s *session, gs []*grant) bool {
	d.notifier.drain()
	if d.notifier.fd < 0 || d.notifier.doubt || len(gs) != len(d.surveys) {
		return false
	}
	for _, g := range gs {
		known := d.surveys[g.path]
		_, mount, err := fdinfo(g.file)
		if err != nil || known == nil || known.scope != s.scope() || known.id != g.id || known.mount != mount ||
			known.apart || !s.mounts.whole(mount, g) {
			return false
		}
	}
	return true
}

// scope says what was looked for.
func (s *session) scope() string {
	v := &s.req.View
	return fmt.Sprintf("%q %+v %d %d", v.ReadOnly, v.Protect, v.ScanMax, v.ScanDepth)
}

// keep notes what f has found out.
func (d *desk) keep(s *session, f *finder) error {
	if !d.kept {
		return nil
	}
	_, mount, err := fdinfo(f.grant.file)
	if err != nil {
		return err
	}
	f.survey.scope, f.survey.id, f.survey.mount = s.scope(), f.grant.id, mount
	f.survey.whole = s.mounts.whole(mount, f.grant)
	d.surveys[f.grant.path] = f.survey
	return nil
}

// told are the file systems on which the kernel sees all that happens.
var told = map[string]bool{"ext2": true, "ext3": true, "ext4": true, "xfs": true, "btrfs": true, "tmpfs": true, "f2fs": true, "jfs": true, "nilfs2": true}

// whole reports whether the mount id shows all of g, on a file system that hides
// nothing from its watches. What is mounted in it can be exchanged unseen.
func (ms mounts) whole(id uint64, g *grant) bool {
	m, ok := ms[id]
	if !ok || !told[m.fstype] {
		return false
	}
	for _, other := range ms {
		if strings.HasPrefix(other.point, strings.TrimSuffix(g.path, "/")+"/") {
			return false
		}
	}
	return true
}
