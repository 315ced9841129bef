package mitm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
)

// refusal is an answer of ours in place of the upstream's. It is also the error
// of a request body that must not go on.
type refusal struct {
	status  int
	code    audit.Code
	reason  string // for the jail; nothing of the outside is in it
	rule    int    // deciding rule, -1 for none
	nearest int    // nearest rule, -1 for none

	addr         netip.Addr // that the guard refused: for the owner, never for the jail
	name         string     // that no rule allows, where it was all that was asked
	method, path string     // what was judged, where that is not the request itself
}

func (r *refusal) Error() string { return r.reason }

// refuse makes a refusal that no rule is behind.
func refuse(status int, code audit.Code, reason string) *refusal {
	return &refusal{status: status, code: code, reason: reason, rule: -1, nearest: -1}
}

// answer is a refusal ready to be written.
type answer struct {
	*refusal
	rule string // text of the rule that decided or came nearest
	id   string // what the owner asks for; empty when there is no record
}

// body renders the answer for a client. What to type goes to the owner, never to
// the program in the jail. message is where gh looks for an error's text.
func (a answer) body(plain bool) (contentType string, body []byte) {
	ask := "ask the owner of this jail"
	if a.id != "" {
		ask = "ask the owner: omnijailctl why " + a.id
	}
	if plain {
		return "text/plain; charset=utf-8", fmt.Appendf(nil, "omnijail: %s\n%s\n", a.reason, ask)
	}
	type detail struct {
		Code   audit.Code `json:"code"`
		Reason string     `json:"reason"`
		Rule   string     `json:"rule"`
		ID     string     `json:"id"`
		Ask    string     `json:"ask"`
	}
	body, err := json.Marshal(struct {
		Message string `json:"message"`
		Error   detail `json:"error"`
	}{"omnijail: " + a.reason + "; " + ask, detail{a.code, a.reason, a.rule, a.id, ask}})
	if err != nil {
		panic(fmt.Sprintf("omnijail: internal error: refusal does not encode: %v", err))
	}
	return "application/json", append(body, '\n')
}

// render is the answer's header fields, in their order, and its body, for a
// request that may be nil: then the head could not be read.
func (a answer) render(req *http.Request) (fields [][2]string, body []byte) {
	contentType, body := a.body(wantsPlain(req))
	fields = [][2]string{
		{"Content-Type", contentType},
		{"Content-Length", strconv.Itoa(len(body))},
		{"Cache-Control", "no-store"},
		{"X-Omnijail-Code", string(a.code)},
		{"X-Omnijail-Reason", printable(a.reason, 512)},
	}
	if a.id != "" {
		fields = append(fields, [2]string{"X-Omnijail-Id", a.id})
	}
	if a.status == http.StatusMethodNotAllowed {
		fields = append(fields, [2]string{"Allow", "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS"})
	}
	if req != nil && req.Method == http.MethodHead {
		body = nil
	}
	return fields, body
}

// write sends the answer over HTTP/1.
func (a answer) write(bw *bufio.Writer, req *http.Request, closes bool) error {
	fields, body := a.render(req)
	fmt.Fprintf(bw, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	for _, f := range fields {
		fmt.Fprintf(bw, "%s: %s\r\n", f[0], f[1])
	}
	if closes {
		bw.WriteString("Connection: close\r\n")
	}
	bw.WriteString("\r\n")
	bw.Write(body)
	return bw.Flush()
}

// wantsPlain reports whether a client shows text but not JSON: it accepts text
// only, or it is git, which prints the body of an error when it is text/plain.
func wantsPlain(req *http.Request) bool {
	if req == nil {
		return false
	}
	if strings.HasPrefix(req.UserAgent(), "git/") || strings.HasPrefix(req.UserAgent(), "git-lfs/") {
		return true
	}
	types := strings.Split(strings.Join(req.Header.Values("Accept"), ","), ",")
	for _, t := range types {
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(t)), "text/") {
			return false
		}
	}
	return true
}
