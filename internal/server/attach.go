package server

import (
	"net/http"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/jail"
)

// logsHead goes before what the command has written, which ends with the
// connection.
const logsHead = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\r\n"

// logs hands the connection over to who keeps the output: no byte of it passes
// through this process.
func (s *Server) logs(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	name := r.URL.Query().Get("command")
	if refused := s.view(c).HasCommand(id, name, false); refused != nil {
		return refused
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return api.Refuse(http.StatusInternalServerError, "upgrade", "cannot take the connection over: %v", err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(turnTimeout))
	if _, err := conn.Write([]byte(logsHead)); err != nil {
		return nil
	}
	if err := s.view(c).Logs(id, name, c.conn, r.URL.Query().Get("follow") == "true"); err != nil {
		s.cfg.Log.Warn("logs not sent", "jail", id, "err", err)
	}
	return nil
}

// attach joins a client to the terminal of a session's command.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	visit, refused := s.view(c).Enter(id)
	if refused != nil {
		return refused
	}
	defer visit.Leave()
	name := r.URL.Query().Get("command")
	if refused = s.view(c).HasCommand(id, name, true); refused == nil {
		refused = mayEnter(visit.Made(), c)
	}
	if refused != nil {
		return refused
	}
	if !upgrades(r) {
		return needsUpgrade()
	}
	var size api.Size
	if err := decode(r, &size); err != nil {
		return err
	}
	return upgrade(w, c, func() { s.view(c).Attach(id, name, size, c.conn) })
}
