package mitm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// gated is what the gate makes of a request's first line.
type gated struct {
	path  string // normalised; these bytes are judged and sent
	query string // as it came, without the question mark

	websocket bool // it asks to become a WebSocket
}

// gate refuses what no rule could ever allow. a is the connection's authority.
func gate(req *http.Request, scheme egress.Scheme, a egress.Authority) (gated, *refusal) {
	switch {
	case req.Method == http.MethodConnect, req.Method == http.MethodTrace:
		return gated{}, refuse(http.StatusMethodNotAllowed, audit.CodeMethod, req.Method+" is never forwarded")
	case !strings.HasPrefix(req.RequestURI, "/"):
		return gated{}, badRequest("the target is not a path")
	case strings.HasPrefix(req.RequestURI, "//"):
		// Joined to a URL this would read as another authority.
		return gated{}, badRequest("the target begins with two slashes")
	}
	if no := gateHost(req.Host, scheme, a); no != nil {
		return gated{}, no
	}
	if no := gateConnection(req.Header); no != nil {
		return gated{}, no
	}
	if no := gateSpelling(req.Header); no != nil {
		return gated{}, no
	}
	websocket, no := gateUpgrade(req)
	if no != nil {
		return gated{}, no
	}
	if e := req.Header.Get("Expect"); e != "" && !strings.EqualFold(e, "100-continue") {
		return gated{}, refuse(http.StatusExpectationFailed, audit.CodeBadRequest, "Expect is not 100-continue")
	}
	raw, query, _ := strings.Cut(req.RequestURI, "?")
	path, err := egress.NormalizePath(raw)
	if err != nil {
		return gated{}, badRequest(err.Error())
	}
	return gated{path: path, query: query, websocket: websocket}, nil
}

// gateHost compares the Host header with the connection's authority. Only an
// HTTP/1.0 client may leave it out.
func gateHost(host string, scheme egress.Scheme, a egress.Authority) *refusal {
	if host == "" {
		return nil
	}
	named, err := egress.ParseAuthority(host, scheme.Port())
	if err != nil {
		return badRequest("the Host header is not a host")
	}
	if named != a {
		return refuse(http.StatusMisdirectedRequest, audit.CodeAuthority,
			fmt.Sprintf("Host names %s on a connection to %s", named, a))
	}
	return nil
}

// gateConnection refuses a Connection header that would make the next hop drop
// what authenticates or frames the request.
func gateConnection(h http.Header) *refusal {
	for name := range hopNames(h) {
		if name == "Authorization" || name == "Host" || name == "Cookie" || strings.HasPrefix(name, "Content-") {
			return badRequest("Connection names the header " + name)
		}
	}
	return nil
}

// gateSpelling refuses a field that we would pass on as one of the client's own, and
// that servers which follow CGI take for one that frames the request or says who asks:
// to them "_" and "-" are the same.
func gateSpelling(h http.Header) *refusal {
	for name := range h {
		if !strings.Contains(name, "_") {
			continue
		}
		dashed := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
		if strings.HasPrefix(dashed, "Content-") || slices.Contains(hopByHop, dashed) || aboutTheClient(dashed) {
			return badRequest("servers may take the header " + name + " for " + dashed)
		}
	}
	return nil
}
