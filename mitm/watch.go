package mitm

import (
	"fmt"
	"sync"
	"time"
)

// watchAfter is how long a request runs before its client is watched: most are
// over by then, and need no goroutine.
const watchAfter = 100 * time.Millisecond

// watch notices that a client has gone away while its upstream is silent.
type watch struct {
	s    *http1Conn
	body *body
	gone func()

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	active  chan struct{} // closed when the look at the connection is over
}

// watch calls gone when the client closes its connection.
func (s *http1Conn) watch(b *body, gone func()) (stop func()) {
	w := &watch{s: s, body: b, gone: gone}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(watchAfter, w.look)
	return w.stop
}

// look waits for the next byte. It is not consumed: it belongs to the next request.
func (w *watch) look() {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return
	}
	if w.body != nil && !w.body.ended.Load() {
		// The transport reads the body, and sees for itself when it breaks off.
		w.timer.Reset(watchAfter)
		w.mu.Unlock()
		return
	}
	w.active = make(chan struct{})
	w.mu.Unlock()

	defer close(w.active)
	if err := w.peek(); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.stopped {
			w.gone()
		}
	}
}

// peek runs on a timer's goroutine, where nobody else would catch a panic.
func (w *watch) peek() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("watch: %v", v)
		}
	}()
	_, err = w.s.br.Peek(1)
	return err
}

// stop ends the look and leaves the connection as it was.
func (w *watch) stop() {
	w.mu.Lock()
	w.stopped = true
	w.timer.Stop()
	active := w.active
	w.mu.Unlock()
	if active == nil {
		return
	}
	w.s.conn.SetReadDeadline(time.Unix(1, 0))
	<-active
	w.s.conn.SetReadDeadline(time.Time{})
}
