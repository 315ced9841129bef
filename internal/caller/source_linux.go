package caller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

// SourceTime bounds all sources of one binding: a command may take 30 seconds.
const SourceTime = 45 * time.Second

// SourceOptions of ResolveSource. The files stay the caller's, who closes its
// copies of the pipes when ResolveSource returns.
type SourceOptions struct {
	Child
	User     jail.User // whose home it is, and who root acts as
	Request  jail.SourceRequest
	Value    *os.File   // write end of the pipe whose read end goes to the egress process
	Stderr   *os.File   // likewise, for at most 4 KiB of a command's error output
	Writable []*os.File // O_PATH, the trees that the jail may write
}

// ResolveSource has a scout write the value of the first source that has one. The
// daemon never sees it. An answer without OK is not an error: it says why.
func ResolveSource(ctx context.Context, o SourceOptions) (jail.SourceReply, error) {
	as, err := o.as(o.User)
	if err != nil {
		return jail.SourceReply{}, err
	}
	s, err := o.startFor(as.UID)
	if err != nil {
		return jail.SourceReply{}, err
	}
	defer s.end()
	defer s.until(ctx, SourceTime)()
	ask := child.SourceRequest{Home: o.Request.Home, Env: o.Request.Env}
	for _, src := range o.Request.Sources {
		ask.Sources = append(ask.Sources, child.Source{File: src.File, Argv: src.Argv})
	}
	reply, err := s.source(child.ScoutAsk{As: as, Source: &ask}, o)
	if err != nil {
		return jail.SourceReply{}, fmt.Errorf("credential source as uid %d: %w", as.UID, contextError(ctx, err))
	}
	return reply, nil
}

func (s *process) source(ask child.ScoutAsk, o SourceOptions) (reply jail.SourceReply, err error) {
	files := append([]*os.File{o.Value, o.Stderr}, o.Writable...)
	if err := s.conn.Send(ask, files...); err != nil {
		return reply, err
	}
	extra, err := s.conn.Recv(&reply)
	if err != nil {
		return reply, err
	}
	if len(extra) != 0 || reply.Index < 0 || reply.Index >= len(ask.Source.Sources) {
		for _, f := range extra {
			f.Close()
		}
		return jail.SourceReply{}, errors.New("malformed answer of the scout")
	}
	reply.Reason = reply.Reason[:min(len(reply.Reason), maxText)]
	reply.Fix = reply.Fix[:min(len(reply.Fix), maxText)]
	return reply, nil
}
