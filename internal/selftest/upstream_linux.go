package selftest

import (
	"bufio"
	"fmt"
	"net/http"

	"github.com/omnijail/omnijail/internal/jail"
)

// upstreamAttempts follow a request that is answered by one that is not allowed,
// on the same connection. They need an upstream that answers.
func upstreamAttempts() (out []Attempt) {
	for _, u := range []struct{ name, tries, first string }{
		{"second_request", "ask for a denied path after an allowed one on one connection", "GET /open/x HTTP/1.1\r\nHost: %s\r\n\r\n"},
		{"pipelined", "send both at once", "GET /open/x HTTP/1.1\r\nHost: %s\r\n\r\n"},
		{"after_head", "ask for it after a HEAD, whose reply has no body", "HEAD /open/x HTTP/1.1\r\nHost: %s\r\n\r\n"},
		{"in_body", "hide it in the body of an allowed request", "GET /open/x HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n\r\n"},
	} {
		out = append(out, Attempt{
			Name: "http." + u.name, Tries: u.tries, Must: "the second is judged by itself", Guarantee: jail.NetworkOnlyProxy, group: network,
			probe: func(s *Site) Finding {
				if s.Upstream == "" {
					return notRun("it needs an upstream that answers (--upstream NAME)")
				}
				return followed(s, fmt.Sprintf(u.first, s.Upstream), u.name == "pipelined" || u.name == "in_body")
			},
		})
	}
	return out
}

// followed sends first and then a request for a denied path, and judges the
// second reply.
func followed(s *Site, first string, atOnce bool) Finding {
	c, err := s.open(target{host: s.Upstream})
	if err != nil {
		return notRun("%v", err)
	}
	defer c.Close()
	second := request("GET", "/closed", s.Upstream)
	if atOnce {
		first, second = first+second, ""
	}
	if _, err := c.Write([]byte(first)); err != nil {
		return notRun("%v", err)
	}
	r := bufio.NewReader(c)
	method := "GET"
	if first[:4] == "HEAD" {
		method = "HEAD"
	}
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		return notRun("the upstream does not answer: %v", err)
	}
	resp.Body.Close()
	if code := resp.Header.Get("X-Omnijail-Code"); code != "" {
		return notRun("the upstream does not answer: %s", code)
	}
	if _, err := c.Write([]byte(second)); err != nil {
		return refused("%v", err)
	}
	return judged(http.ReadResponse(r, &http.Request{Method: "GET"}))
}
