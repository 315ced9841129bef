package caller

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/omnijail/omnijail/internal/child"
)

// Watch is a scout that looks for new names while a command runs.
type Watch struct{ scout *process }

// SettleTime bounds what a scout does while the command stands still, and is meant
// for its last look when the command has ended.
const SettleTime = 20 * time.Second

// Watch has the scout watch these roots, O_PATH descriptors in the order of the
// request's, from what it has seen of them on. It comes after Resolve, and takes the
// scout over. The roots stay the caller's.
func (o *Opened) Watch(ctx context.Context, request child.WatchRequest, roots []*os.File) (*Watch, error) {
	s := o.scout
	defer s.until(ctx, OpenTime)()
	if err := s.conn.Send(child.ScoutAsk{As: o.as, Watch: &request}, roots...); err != nil {
		s.end()
		return nil, fmt.Errorf("watch as uid %d: %w", o.as.UID, contextError(ctx, err))
	}
	return &Watch{s}, nil
}

// Ready returns once everything that the command starts with is under watch. The
// frame is of another kind where that cannot be.
func (w *Watch) Ready(ctx context.Context) (child.WatchFrame, error) {
	defer w.scout.until(ctx, OpenTime)()
	f, err := w.receive()
	if err != nil {
		return f, contextError(ctx, err)
	}
	return f, nil
}

// Next waits for the next frame, after Frozen no longer than SettleTime.
func (w *Watch) Next() (child.WatchFrame, error) { return w.receive() }

func (w *Watch) receive() (child.WatchFrame, error) {
	b, err := w.scout.conn.RecvFrame(child.MaxWatchFrame)
	if err != nil {
		return child.WatchFrame{}, gone(err)
	}
	f, err := child.DecodeWatch(b)
	if err == nil && f.Kind == child.WatchStays {
		w.scout.stays.Store(true)
	}
	return f, err
}

// Frozen tells the scout that the command stands still.
func (w *Watch) Frozen() error {
	w.scout.conn.SetDeadline(time.Now().Add(SettleTime))
	return gone(w.scout.conn.SendFrame([]byte{child.OrderFrozen}))
}

// Restaged tells the scout that what covered a name is there again.
func (w *Watch) Restaged() error {
	return gone(w.scout.conn.SendFrame([]byte{child.OrderRestaged}))
}

// Calm lets Next wait for ever again.
func (w *Watch) Calm() { w.scout.conn.SetDeadline(time.Time{}) }

// End tells the scout that the command has ended. It looks a last time, and its
// last frame is WatchDone, or WatchStays where it is of use to the caller's next request.
func (w *Watch) End() error {
	return w.scout.conn.SendFrame([]byte{child.OrderEnd})
}

// Close ends the scout, unless it stays. It may be called again.
func (w *Watch) Close() error {
	w.scout.leave()
	return nil
}
