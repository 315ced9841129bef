package scout

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

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
		if going, err = d.watch(conn, ask.As); err != nil || !going {
			return err
		}
		if ask, client, err = d.next(conn, ask.As); err != nil {
			return err
		}
	}
}

// watch takes the order to watch. going says that the scout stays.
func (d *desk) watch(conn *seqpacket.Conn, as child.Credential) (going bool, err error) {
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

// stays reports whether what is known is worth keeping, and is all that is kept.
func (d *desk) stays() bool {
	if d.notifier.fd < 0 || d.notifier.doubt || len(d.surveys) == 0 {
		return false
	}
	size := 0
	for s := range maps.Values(d.surveys) {
		size += s.size
		if s.apart || s.locked || !s.whole {
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
