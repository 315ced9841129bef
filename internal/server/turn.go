package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/omnijail/omnijail/api"
)

const (
	// maxTurns is how many requests of one uid are read and answered at a time:
	// each may be megabytes, or a walk through the whole journal.
	maxTurns = 4
	// turnTimeout bounds the reading of a body, and again the writing of a reply,
	// by a client that dawdles.
	turnTimeout = 30 * time.Second
)

// turns are the requests under way, by uid.
type turns struct {
	mu    sync.Mutex
	users map[uint32]*turnsOf
}

type turnsOf struct {
	places chan struct{}
	known  int // requests that have or wait for a place
}

// take waits for a place of uid's. done gives it back and may be called again.
func (t *turns) take(ctx context.Context, uid uint32) (done func(), err error) {
	t.mu.Lock()
	u := t.users[uid]
	if u == nil {
		u = &turnsOf{places: make(chan struct{}, maxTurns)}
		t.users[uid] = u
	}
	u.known++
	t.mu.Unlock()
	forget := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if u.known--; u.known == 0 {
			delete(t.users, uid)
		}
	}
	select {
	case u.places <- struct{}{}:
		return sync.OnceFunc(func() { <-u.places; forget() }), nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}

// serve answers one request of an authorized caller in its turn. A handler whose
// answer lasts ends its turn itself.
func (s *Server) serve(h handlerFunc, w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	done, err := s.turns.take(r.Context(), c.UID())
	if err != nil {
		return api.Refuse(http.StatusServiceUnavailable, "gone", "the client is gone")
	}
	defer done()
	slow := http.NewResponseController(w)
	slow.SetReadDeadline(time.Now().Add(turnTimeout))
	body, refused := readBody(r)
	if refused != nil {
		return refused
	}
	slow.SetReadDeadline(time.Time{})
	slow.SetWriteDeadline(time.Now().Add(turnTimeout))
	defer slow.SetWriteDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.endTurn = func() {
		slow.SetWriteDeadline(time.Time{})
		done()
	}
	return h(s, w, r, c)
}

func readBody(r *http.Request) ([]byte, *api.Error) {
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, api.MaxRequest))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, api.Refuse(http.StatusBadRequest, "too_large", "the request is longer than %d bytes", api.MaxRequest)
	case err != nil:
		return nil, api.Refuse(http.StatusBadRequest, "body", "read request: %v", err)
	}
	return b, nil
}
