package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/daemon"
	"github.com/omnijail/omnijail/internal/peercred"
)

// Config is what a Server needs. All fields are required.
type Config struct {
	Manager *daemon.Manager
	// Settings returns the configuration in force; a reload changes it.
	Settings func() *config.Config
	Names    config.Names
	Self     peercred.Self // what a peer's confinement is measured against
	Log      *slog.Logger
}

// Server serves the control socket.
type Server struct {
	cfg   Config
	http  *http.Server
	turns turns
}

// New returns a Server that is not yet listening.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, turns: turns{users: map[uint32]*turnsOf{}}}
	s.http = &http.Server{
		Handler:           s.handler(),
		ConnContext:       identify,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve accepts callers until Close.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(newDoor(l, s.mostConns))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close stops listening and drops idle connections; running execs are the
// Manager's to end.
func (s *Server) Close() error { return s.http.Close() }

// mostConns is the ceiling of one uid: as many jails as any entry of access
// gives, each of which has a connection, and some to ask about them.
func (s *Server) mostConns() int {
	most := spareConns
	for _, a := range s.cfg.Settings().Access {
		most = max(most, spareConns+a.Jails)
	}
	return most
}

type peerKey struct{}

// identify puts the connection where its requests find it.
func identify(ctx context.Context, c net.Conn) context.Context {
	p, _ := c.(*peerConn)
	return context.WithValue(ctx, peerKey{}, p)
}

// caller is who made a request and what the access entry of theirs allows.
type caller struct {
	peercred.Caller
	access   *config.Access
	confined bool   // more than the daemon
	epoch    uint64 // of the configuration that it was judged by, or an earlier one
	conn     *net.UnixConn
	endTurn  func() // before an answer that lasts
}

// authorize answers for a request, or refuses it.
func (s *Server) authorize(r *http.Request) (*caller, *api.Error) {
	p, _ := r.Context().Value(peerKey{}).(*peerConn)
	if p == nil || p.err != nil {
		return nil, api.Refuse(http.StatusForbidden, "peer_unknown", "the kernel does not say who is calling")
	}
	if err := browserRequest(r); err != nil {
		return nil, err
	}
	epoch := s.cfg.Manager.Epoch() // before what it stands for is read
	set := s.cfg.Settings()
	if err := s.cfg.Manager.RefusesPeer(p.caller); err != nil {
		return nil, err
	}
	why, err := peercred.Confined(p.caller, s.cfg.Self)
	if err != nil {
		return nil, api.Refuse(http.StatusForbidden, "peer_unknown", "cannot tell how confined the caller is: %v", err)
	}
	subject := config.Subject{UID: p.caller.UID(), Groups: append([]uint32{p.caller.GID()}, p.caller.Groups()...), Confined: why != ""}
	access := config.Decide(set.Access, subject, s.cfg.Names)
	if access == nil && why != "" {
		return nil, api.Refuse(http.StatusForbidden, "peer_confined", "you call from a confined process (%s), which could use a jail to get out", why).
			Hint("call from outside it, or the operator can add an access entry with confined: true that names root-owned policies")
	}
	if access == nil {
		return nil, api.Refuse(http.StatusForbidden, "no_access", "no access entry in omnijaild.yaml is for uid %d", p.caller.UID()).
			Hint("the operator can add you to the group %q, or an entry to access:", set.Group)
	}
	return &caller{Caller: p.caller, access: access, confined: why != "", epoch: epoch, conn: p.UnixConn}, nil
}

// browserRequest refuses what a web page could send through some forwarder.
func browserRequest(r *http.Request) *api.Error {
	if r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "" {
		return api.Refuse(http.StatusForbidden, "browser", "a request with Origin or Referer is not from a client of this socket")
	}
	switch r.Host {
	case "", "omnijail", "localhost":
		return nil
	}
	return api.Refuse(http.StatusForbidden, "host", "the Host of a request must be omnijail, localhost or empty")
}
