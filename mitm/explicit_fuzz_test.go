package mitm

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/egress"
)

// FuzzExplicitTarget holds that a target is either refused or says its authority in
// plain sight: nothing is repaired, dropped or decoded on the way.
func FuzzExplicitTarget(f *testing.F) {
	for _, s := range []string{
		"CONNECT good.test:443", "CONNECT [2001:db8::1]:443", "CONNECT user@good.test:443", "GET http://good.test/x?y", "GET http://good.test:8080",
		"GET http://u:p@good.test/", "GET http://good.test?x", "OPTIONS http://good.test", "GET http://good.test\\@evil.test/", "GET http://GOOD.test./x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		method, target, _ := strings.Cut(line, " ")
		raw := line + " HTTP/1.1\r\nHost: h\r\n\r\n"
		req, no, err := readRequest(bufio.NewReaderSize(strings.NewReader(raw), maxHead))
		if no != nil || err != nil || req == nil {
			return
		}
		var a egress.Authority
		var rest string
		if method == http.MethodConnect {
			req.Host = ""
			if a, no = connectAuthority(req); no == nil {
				target += "/"
			}
		} else if a, no = takeAuthority(req); no == nil {
			target = strings.TrimPrefix(target, absoluteStart)
			rest = strings.TrimPrefix(req.RequestURI, "/")
		}
		if no != nil {
			return
		}
		end := strings.IndexAny(target+"/", "/?")
		named, err := egress.ParseAuthority(target[:end], portHTTP)
		if err != nil || named != a {
			t.Fatalf("%q became %s", line, a)
		}
		if method != http.MethodConnect && strings.TrimPrefix(target[end:], "/") != rest {
			t.Fatalf("%q is sent as %q", line, req.RequestURI)
		}
	})
}
