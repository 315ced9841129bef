package mitm

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"

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

// ask is what the program in the jail may say to its user. What to type goes to
// the owner, never to that program.
func (a answer) ask() string {
	if a.id == "" {
		return "ask the owner of this jail"
	}
	return "ask the owner: omnijailctl why " + a.id
}

// body renders the answer for a client. message is where gh looks for an error's
// text.
func (a answer) body(f form) (contentType string, body []byte) {
	if f == formPlain {
		return "text/plain; charset=utf-8", fmt.Appendf(nil, "omnijail: %s\n%s\n", a.reason, a.ask())
	}
	message := "omnijail: " + a.reason + "; " + a.ask()
	if f == formXML || f == formQuery {
		return "application/xml", a.xml(message, f)
	}
	type detail struct {
		Code   audit.Code `json:"code"`
		Reason string     `json:"reason"`
		Rule   string     `json:"rule"`
		ID     string     `json:"id"`
		Ask    string     `json:"ask"`
	}
	d := detail{a.code, a.reason, a.rule, a.id, a.ask()}
	var shape any = struct {
		Message string `json:"message"`
		Error   detail `json:"error"`
	}{message, d}
	if f == formNPM {
		shape = struct {
			Error  string `json:"error"`
			Detail detail `json:"detail"`
		}{message, d}
	}
	body, err := json.Marshal(shape)
	if err != nil {
		panic(fmt.Sprintf("omnijail: internal error: refusal does not encode: %v", err))
	}
	return "application/json", append(body, '\n')
}

// xml is the answer as S3 words one, or as the services do that answer a form.
func (a answer) xml(message string, f form) []byte {
	type fields struct {
		XMLName   xml.Name   `xml:"Error"`
		Code      audit.Code `xml:"Code"`
		Message   string     `xml:"Message"`
		Rule      string     `xml:"Rule"`
		RequestID string     `xml:"RequestId"`
	}
	var shape any = fields{Code: a.code, Message: message, Rule: a.rule, RequestID: a.id}
	if f == formQuery {
		shape = struct {
			XMLName xml.Name `xml:"ErrorResponse"`
			Error   any
		}{Error: shape}
	}
	body, err := xml.Marshal(shape)
	if err != nil {
		panic(fmt.Sprintf("omnijail: internal error: refusal does not encode: %v", err))
	}
	return append([]byte(xml.Header), append(body, '\n')...)
}

// maxPhrase bounds the words of a status line, in bytes.
const maxPhrase = 512

// phrase is the words of the status line. wget, pip, apt, Go, aws and Python's
// libraries show them, and nothing of the body.
func (a answer) phrase() string {
	return printable(http.StatusText(a.status)+" (omnijail: "+a.reason+"; "+a.ask()+")", maxPhrase)
}

// render is the answer's header fields, in their order, and its body, for a
// request that may be nil: then the head could not be read.
func (a answer) render(req *http.Request) (fields [][2]string, body []byte) {
	contentType, body := a.body(formFor(req))
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
	fmt.Fprintf(bw, "HTTP/1.1 %d %s\r\n", a.status, a.phrase())
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
