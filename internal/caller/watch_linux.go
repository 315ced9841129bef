package caller

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

// WatchOptions of StartWatch. The roots stay the caller's.
type WatchOptions struct {
	Child
	Scout   *Scout // in Group, serves this alone; stays the caller's to close. nil starts one
	User    jail.User
	Request child.WatchRequest
	Roots   []*os.File // O_PATH, in the order of Request.Roots
}

// Watch is a scout that looks for new names while a command runs.
type Watch struct{ scout *process }

// SettleTime bounds what a scout does while the command stands still, and is meant
// for its last look when the command has ended.
const SettleTime = 20 * time.Second

// StartWatch asks a scout to watch. Ready waits until it does.
func StartWatch(ctx context.Context, o WatchOptions) (*Watch, error) {
	as, err := o.as(o.User)
	if err != nil {
		return nil, err
	}
	var s *process
	if o.Scout != nil {
		s, err = o.Scout.serve(as.UID)
	} else {
		s, err = o.startFor(as.UID)
	}
	if err != nil {
		return nil, err
	}
	defer s.until(ctx, OpenTime)()
	if err := s.conn.Send(child.ScoutAsk{As: as, Watch: &o.Request}, o.Roots...); err != nil {
		s.end()
		return nil, fmt.Errorf("watch as uid %d: %w", as.UID, contextError(ctx, err))
	}
	return &Watch{s}, nil
}

// Ready returns once everything that the command starts with is under watch. The
// frame is of another kind where that cannot be.
func (w *Watch) Ready(ctx context.Context) (child.WatchFrame, error) {
	defer w.scout.until(ctx, OpenTime)()
	f, err := w.receive()
	if err != nil {
		return f, fmt.Errorf("watch as uid %d: %w", w.scout.uid, contextError(ctx, err))
	}
	return f, nil
}

// Next waits for the next frame, after Frozen no longer than SettleTime.
func (w *Watch) Next() (child.WatchFrame, error) { return w.receive() }

func (w *Watch) receive() (child.WatchFrame, error) {
	b, err := w.scout.conn.RecvFrame(child.MaxWatchFrame)
	if err != nil {
		return child.WatchFrame{}, err
	}
	return child.DecodeWatch(b)
}

// Frozen tells the scout that the command stands still.
func (w *Watch) Frozen() error {
	w.scout.conn.SetDeadline(time.Now().Add(SettleTime))
	return w.scout.conn.SendFrame([]byte{child.OrderFrozen})
}

// Calm lets Next wait for ever again.
func (w *Watch) Calm() { w.scout.conn.SetDeadline(time.Time{}) }

// End tells the scout that the command has ended. It looks a last time, and its
// last frame is WatchDone.
func (w *Watch) End() error {
	return w.scout.conn.SendFrame([]byte{child.OrderEnd})
}

// Close ends the scout. It may be called again.
func (w *Watch) Close() error {
	w.scout.end()
	return nil
}
