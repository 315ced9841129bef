package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/caller"
)

// Bounds of the scouts that stay after a command, with what they know of its
// workspace, for the next one.
const (
	lastingTime  = time.Minute // without a command
	lastingOfUID = 8
	lastingInAll = 64
)

// lasting are the scouts that stay. Each is the process of one caller, and serves
// only that caller's requests for the same files: the key says which.
type lasting[S stayer] struct {
	time   time.Duration
	mu     sync.Mutex
	scouts []*lastingOne[S] // the one that served last is last
	closed bool
	ending sync.WaitGroup
}

// stayer is a scout.
type stayer interface {
	Alive() bool
	Close() error // waits for its death
}

type lastingOne[S stayer] struct {
	scout S
	uid   uint32
	key   string
	timer *time.Timer
}

// lastingKey is equal for requests that a scout which stayed may serve alike. What
// makes a difference to what it knows, it compares itself.
func lastingKey(p *Plan) string {
	b, err := json.Marshal([]any{p.Caller.UID(), p.Caller.GID(), p.Caller.Groups(), p.User, p.Spec.View})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return string(sum[:])
}

// take returns a scout that stayed for this and says that it is there.
func (l *lasting[S]) take(key string, here func(S) error) (s S, ok bool) {
	for {
		one := l.pick(key)
		if one == nil {
			return s, false
		}
		if one.scout.Alive() && here(one.scout) == nil {
			return one.scout, true
		}
		l.end(one.scout)
	}
}

// end ends a scout beside the command that it is no use to: the kernel takes a while
// to undo thousands of watches.
func (l *lasting[S]) end(s S) { l.ending.Go(func() { s.Close() }) }

func (l *lasting[S]) pick(key string) *lastingOne[S] {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.scouts) - 1; i >= 0; i-- {
		if l.scouts[i].key == key {
			return l.remove(i)
		}
	}
	return nil
}

// remove takes a scout out. The caller holds mu.
func (l *lasting[S]) remove(i int) *lastingOne[S] {
	s := l.scouts[i]
	l.scouts = append(l.scouts[:i:i], l.scouts[i+1:]...)
	s.timer.Stop()
	return s
}

// put keeps a scout, or ends it where there are too many: of its own user's the
// oldest makes room, of others' none.
func (l *lasting[S]) put(s S, uid uint32, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest, of := -1, 0
	for i, other := range l.scouts {
		if other.uid == uid {
			if of++; oldest < 0 {
				oldest = i
			}
		}
	}
	if of >= lastingOfUID {
		l.end(l.remove(oldest).scout)
	}
	if l.closed || len(l.scouts) >= lastingInAll {
		l.end(s)
		return
	}
	kept := &lastingOne[S]{scout: s, uid: uid, key: key}
	kept.timer = time.AfterFunc(l.time, func() { l.expire(kept) })
	l.scouts = append(l.scouts, kept)
}

func (l *lasting[S]) expire(one *lastingOne[S]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.scouts, one); i >= 0 {
		l.end(l.remove(i).scout)
	}
}

// close ends them all and waits for that. None is kept after it.
func (l *lasting[S]) close() {
	l.mu.Lock()
	l.closed = true
	for len(l.scouts) > 0 {
		l.end(l.remove(0).scout)
	}
	l.mu.Unlock()
	l.ending.Wait()
}

// scoutFor is the scout that opens the files of x: one that knows them, or one that
// waits. It goes back, or ends, with x.
func (x *execution) scoutFor(ctx context.Context, watch bool) (*scout, error) {
	m, p := x.m, x.plan
	key, found := "", false
	var s *scout
	if watch {
		key = lastingKey(p)
		s, found = m.lasting.take(key, func(s *scout) error {
			return s.Here(ctx, caller.Child{Init: m.cfg.Init, Caller: p.Caller, Group: s.group}, p.User)
		})
	}
	if !found {
		var err error
		if s, err = m.takeScout(); err != nil {
			return nil, err
		}
	}
	x.undo.Add(func() error {
		if s.Stays() {
			m.lasting.put(s, p.User.UID, key)
			return nil
		}
		return m.later(s.Close)()
	})
	return s, nil
}
