package caller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/omnijail/omnijail/internal/child"
)

// CacheTime bounds one walk through a cache.
const CacheTime = 20 * time.Second

// CacheOptions of WalkCache. The files stay the caller's.
type CacheOptions struct {
	Init   *os.File // omnijail-init, root-owned or a sealed memfd
	Group  Group    // killed when the scout is done
	UID    uint32   // whose the directories are
	GID    uint32
	Dirs   []*os.File
	Empty  bool  // remove what is in them
	Enough int64 // bytes after which counting may stop
}

// CacheWalk is what a walk found.
type CacheWalk struct {
	Bytes int64 // on the disk; each entry counts as 4 KiB at least
	More  bool  // the walk ended before it was through
}

// WalkCache has a scout measure the directories of a cache, or empty them. It acts
// as the user whose they are and not for a caller: there may be none any more.
func WalkCache(ctx context.Context, o CacheOptions) (CacheWalk, error) {
	s, err := Child{Init: o.Init, Group: o.Group}.startFor(o.UID)
	if err != nil {
		return CacheWalk{}, err
	}
	defer s.end()
	defer s.until(ctx, CacheTime+OpenTime)()
	ask := child.ScoutAsk{
		As:    child.Credential{UID: o.UID, GID: o.GID},
		Cache: &child.CacheRequest{Empty: o.Empty, Enough: o.Enough, Millis: CacheTime.Milliseconds()},
	}
	reply, err := s.cache(ask, o.Dirs)
	if err != nil {
		return CacheWalk{}, fmt.Errorf("cache of uid %d: %w", o.UID, contextError(ctx, err))
	}
	return reply, nil
}

func (s *process) cache(ask child.ScoutAsk, dirs []*os.File) (CacheWalk, error) {
	if err := s.conn.Send(ask, dirs...); err != nil {
		return CacheWalk{}, err
	}
	var reply child.CacheReply
	extra, err := s.conn.Recv(&reply)
	if err != nil {
		return CacheWalk{}, err
	}
	if len(extra) != 0 || reply.Bytes < 0 {
		for _, f := range extra {
			f.Close()
		}
		return CacheWalk{}, errors.New("malformed answer of the scout")
	}
	if reply.Err != "" {
		return CacheWalk{}, errors.New(reply.Err[:min(len(reply.Err), maxText)])
	}
	return CacheWalk{Bytes: reply.Bytes, More: reply.More}, nil
}
