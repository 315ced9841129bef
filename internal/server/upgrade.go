package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/omnijail/omnijail/api"
)

func upgrades(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), api.UpgradeProtocol)
}

func needsUpgrade() *api.Error {
	return api.Refuse(http.StatusBadRequest, "upgrade", "this needs Upgrade: %s", api.UpgradeProtocol)
}

// upgrade answers 101 and gives the connection to serve, which is the caller's turn
// no longer. Whoever spoke before its turn is hung up on: descriptors that came with
// those bytes are lost.
func upgrade(w http.ResponseWriter, c *caller, serve func()) *api.Error {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return api.Refuse(http.StatusInternalServerError, "upgrade", "cannot upgrade: %v", err)
	}
	defer conn.Close()
	if buf.Reader.Buffered() > 0 {
		return nil
	}
	conn.SetDeadline(time.Now().Add(turnTimeout)) // a client that has its socket full does not keep its place
	if _, err := conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + api.UpgradeProtocol + "\r\n\r\n")); err != nil {
		return nil
	}
	conn.SetDeadline(time.Time{})
	c.endTurn()
	serve()
	return nil
}
