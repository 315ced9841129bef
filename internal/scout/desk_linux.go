package scout

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// Bounds of what a scout keeps. A user has only so many watches, and an editor of
// the user's needs some.
const (
	mostPlaces   = 1 << 16 // directories
	shareOfLimit = 16      // of the user's watches, one of so many
)

// desk is what a scout keeps from one request to the next. All of it belongs to one
// caller, as whom the scout acts.
type desk struct {
	kept     bool // a watch follows
	notifier *notifier
	surveys  map[string]*survey // by the path of the grant
	own      map[int]string     // descriptors from before the first request
}

func newDesk(kept bool) *desk {
	d := &desk{kept: kept}
	d.clear()
	return d
}

// clear forgets all and begins anew: with a new inotify, for no watch of before must
// be taken for one of what is known now.
func (d *desk) clear() {
	if d.notifier != nil {
		d.notifier.close()
	}
	d.notifier, d.surveys = newNotifier(d.kept), map[string]*survey{}
}

// serveOpen answers an open request and resolves names below the staged trees. Where
// a watch follows, it goes on to that, and then to the next request of the caller's.
func serveOpen(conn *seqpacket.Conn, ask child.ScoutAsk, client []*os.File, own map[int]string) error {
	d := newDesk(ask.Open.Watch)
	d.own = own
	for {
		s := &session{ask: ask, req: ask.Open, client: client, desk: d}
		going, err := s.serve(conn)
		if err != nil || !going || !d.kept {
			return err
		}
		if going, err = d.serveWatch(conn, ask.As); err != nil || !going {
			return err
		}
		if ask, client, err = d.next(conn, ask.As); err != nil {
			return err
		}
	}
}

// serveWatch takes the order to watch. going says that the scout stays.
func (d *desk) serveWatch(conn *seqpacket.Conn, as child.Credential) (going bool, err error) {
	var ask child.ScoutAsk
	files, err := conn.Recv(&ask)
	if err != nil {
		return false, err
	}
	if err := checkAgain(ask, as); err != nil || ask.Watch == nil {
		return false, errors.Join(err, errors.New("something else than a watch"))
	}
	return serveWatch(conn, d, ask.Watch, files)
}

// next waits for the caller's next request. Meanwhile the kernel keeps what happens
// in the queue of the inotify; if that runs over, all is looked through anew.
func (d *desk) next(conn *seqpacket.Conn, as child.Credential) (ask child.ScoutAsk, client []*os.File, err error) {
	for {
		ask = child.ScoutAsk{}
		if client, err = conn.Recv(&ask); err != nil {
			return ask, nil, err
		}
		if err := checkAgain(ask, as); err != nil {
			return ask, nil, err
		}
		switch {
		case ask.Again:
			if err := conn.Send(child.ScoutHere{}); err != nil {
				return ask, nil, err
			}
		case ask.Open != nil && ask.Open.Watch:
			return ask, client, nil
		default:
			return ask, nil, errors.New("something else than what a scout stays for")
		}
	}
}

// checkAgain wants a later request to be for the same caller: what the scout has
// become it stays.
func checkAgain(ask child.ScoutAsk, as child.Credential) error {
	if ask.As.UID != as.UID || ask.As.GID != as.GID || !slices.Equal(ask.As.Groups, as.Groups) {
		return errors.New("a scout serves one caller")
	}
	return checkAsk(ask)
}

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

// stays reports whether what is known is worth keeping, and is all that is kept.
func (d *desk) stays() bool {
	if d.notifier.fd < 0 || d.notifier.doubt || len(d.surveys) == 0 {
		return false
	}
	size := 0
	for s := range maps.Values(d.surveys) {
		size += s.size
		if s.apart || !s.whole {
			return false
		}
	}
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return false
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && size <= min(mostPlaces, limit/shareOfLimit) && d.clean()
}

// clean reports whether no descriptor is open but those from before and the inotify:
// one of a client's that stayed here would keep its pipe from ending.
func (d *desk) clean() bool {
	now := openFiles()
	for fd, to := range now {
		// The runtime polls with two of its own.
		if fd != d.notifier.fd && d.own[fd] != to && to != "anon_inode:[eventpoll]" && to != "anon_inode:[eventfd]" {
			return false
		}
	}
	return len(now) > 0
}

// openFiles are the descriptors of this process, and what each is; none if that
// cannot be told.
func openFiles() map[int]string {
	const dir = "/proc/self/fd/"
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	open := map[int]string{}
	for _, e := range names {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil
		}
		to, err := os.Readlink(dir + e.Name())
		if err != nil && !errors.Is(err, unix.ENOENT) { // the listing's own has gone
			return nil
		}
		if err == nil {
			open[fd] = to
		}
	}
	return open
}
