package mitm

import (
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
)

// The headers of a WebSocket's handshake, in canonical form.
const (
	webSocketKey        = "Sec-Websocket-Key"
	webSocketVersion    = "Sec-Websocket-Version"
	webSocketAccept     = "Sec-Websocket-Accept"
	webSocketProtocol   = "Sec-Websocket-Protocol"
	webSocketExtensions = "Sec-Websocket-Extensions"
)

// gateUpgrade finds out whether a request asks to become a WebSocket, and refuses
// every other change of protocol. h2c is only an offer, which a server may ignore,
// and so it is: some clients make it with each request.
func gateUpgrade(req *http.Request) (websocket bool, no *refusal) {
	protocols := tokens(req.Header, "Upgrade")
	protocols = slices.DeleteFunc(protocols, func(p string) bool { return strings.EqualFold(p, "h2c") })
	if len(protocols) == 0 {
		return false, nil
	}
	if len(protocols) > 1 || !strings.EqualFold(protocols[0], "websocket") {
		return false, refuse(http.StatusForbidden, audit.CodeUpgrade,
			"Upgrade: "+printable(strings.Join(protocols, ", "), 32)+" is not carried")
	}
	if err := checkWebSocket(req); err != nil {
		return false, badRequest(err.Error())
	}
	return true, nil
}

// checkWebSocket holds a handshake to RFC 6455 section 4.1, so that no server can
// take it for something else.
func checkWebSocket(req *http.Request) error {
	h := req.Header
	switch {
	case req.Method != http.MethodGet, !req.ProtoAtLeast(1, 1):
		return errors.New("a WebSocket begins with a GET request of HTTP/1.1")
	case req.ContentLength != 0:
		return errors.New("a WebSocket's handshake has no body")
	case !slices.ContainsFunc(tokens(h, "Connection"), func(s string) bool { return strings.EqualFold(s, "upgrade") }):
		return errors.New("the header Connection does not name Upgrade")
	case len(h[webSocketVersion]) != 1 || h.Get(webSocketVersion) != "13":
		return errors.New("its Sec-WebSocket-Version is not 13")
	}
	if key, err := base64.StdEncoding.DecodeString(h.Get(webSocketKey)); err != nil || len(key) != 16 || len(h[webSocketKey]) != 1 {
		return errors.New("Sec-WebSocket-Key is not 16 bytes in base64")
	}
	return nil
}

// tokens returns the elements of a comma list, however many fields it came in.
func tokens(h http.Header, name string) []string {
	var out []string
	for _, v := range h[name] {
		for t := range strings.SplitSeq(v, ",") {
			if t = strings.TrimSpace(t); t != "" {
				out = append(out, t)
			}
		}
	}
	return out
}

// judgeWebSocket asks for what a WebSocket needs beyond the request that begins
// it: a rule that opens it and, where a credential is bound to the host, that
// credential's word, because what comes back is no reply to a request.
func (x *exchange) judgeWebSocket() *refusal {
	host := x.s.authority.Host()
	if !x.verdict.WebSocket {
		no := refuse(http.StatusForbidden, audit.CodeUpgrade, "no rule opens a WebSocket to "+host)
		no.nearest = x.verdict.Index
		return no
	}
	bound, open := x.g.Table.WebSocket(host)
	if bound && !open {
		return refuse(http.StatusForbidden, audit.CodeUpgrade, "a credential is bound to "+host+" and does not open it to WebSockets")
	}
	h := x.req.Header
	if x.searched() {
		// Compressed frames could carry a value back unseen.
		delete(h, webSocketExtensions)
	}
	h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
	return nil
}
