package selftest

import (
	"crypto/tls"
	"strings"
	"time"

	"github.com/omnijail/omnijail/internal/jail"
)

// post renders a request with a body.
func post(path, host, body string, fields ...string) string {
	return strings.TrimSuffix(request("POST", path, host, fields...), "\r\n") + "Content-Length: " + itoa(len(body)) + "\r\n\r\n" + body
}

// httpAttempts send what the rules do not allow, or what two programs would read
// in two ways.
func httpAttempts() (out []Attempt) {
	const host = allowedName
	here := target{host: host}
	get := func(path string, fields ...string) string { return request("GET", path, host, fields...) }
	for _, h := range []struct {
		name, tries string
		to          target
		raw         string
	}{
		{"method", "use a method that no rule allows", here, request("DELETE", "/open/x", host)},
		{"post", "write where a rule allows reading", here, post("/open/x", host, "x")},
		{"unknown_method", "use a method that nobody knows", here, request("OMNIJAIL", "/open/x", host)},
		{"lower_case_method", "write a method in lower case", here, request("post", "/open/x", host)},
		{"path", "ask for a path that no rule allows", here, get("/closed")},
		{"deny_rule", "ask for a path that a rule denies", here, get("/open/denied/x")},
		{"prefix", "ask for a path that only begins like an allowed one", here, get("/openly")},
		{"dots", "leave the path by dots", here, get("/open/../closed")},
		{"dots_encoded", "leave it by encoded dots", here, get("/open/%2e%2e/closed")},
		{"dots_half_encoded", "leave it by half encoded dots", here, get("/open/.%2E/closed")},
		{"dots_twice_encoded", "leave it by dots that are encoded twice", here, get("/open/%252e%252e/closed")},
		{"dots_parameter", "leave it by dots with a parameter", here, get("/open/..;/closed")},
		{"slash_encoded", "hide a slash", here, get("/open/..%2fclosed")},
		{"backslash", "use a backslash", here, get("/open/..\\closed")},
		{"backslash_encoded", "use an encoded backslash", here, get("/open/..%5cclosed")},
		{"two_slashes", "begin with two slashes, as another host would", here, get("//" + otherName + "/x")},
		{"nul", "end the path early", here, get("/open/x%00/../closed")},
		{"control_byte", "put a control byte into the path", here, get("/open/x\x01")},
		{"overlong", "write a dot in two bytes", here, get("/open/%c0%ae%c0%ae/closed")},
		{"absolute_form", "name another host in the target", here, request("GET", "https://"+otherName+"/x", host)},
		{"absolute_form_host", "name another host in target and Host", here, request("GET", "https://"+otherName+"/x", otherName)},
		{"connect", "ask for a tunnel in the tunnel", here, request("CONNECT", otherName+":443", otherName+":443")},
		{"trace", "have the request echoed", here, request("TRACE", "/open/x", host)},
		{"asterisk", "ask about the whole server", here, request("OPTIONS", "*", host)},
		{"host", "name another host in Host", here, request("GET", "/x", otherName)},
		{"host_port", "name another port in Host", here, request("GET", "/open/x", host+":8443")},
		{"host_twice", "name two hosts", here, get("/open/x", "Host: "+otherName)},
		{"host_userinfo", "hide a host behind an @", here, request("GET", "/open/x", host+"@"+otherName)},
		{"host_list", "name two hosts in one field", here, request("GET", "/open/x", host+","+otherName)},
		{"host_missing", "name no host", here, "GET /open/x HTTP/1.1\r\n\r\n"},
		{"host_space", "put a space before the colon", here, "GET /open/x HTTP/1.1\r\nHost : " + host + "\r\n\r\n"},
		{"host_folded", "fold the host over two lines", here, "GET /open/x HTTP/1.1\r\nHost:\r\n " + otherName + "\r\n\r\n"},
		{"sni", "name another host in the handshake", target{host: host, sni: otherName}, get("/open/x")},
		{"port", "use another port of an allowed name", target{host: host, port: 8443}, request("GET", "/open/x", host+":8443")},
		{"plain", "leave TLS away", target{host: host, plain: true}, get("/open/x")},
		{"plain_on_443", "leave TLS away on its port", target{host: host, port: 443, plain: true}, request("GET", "/open/x", host+":443")},
		{"length_and_chunks", "frame the body in two ways", here, post("/open/x", host, "0\r\n\r\nGET /closed HTTP/1.1\r\n\r\n", "Transfer-Encoding: chunked")},
		{"two_lengths", "give two lengths", here, get("/open/x", "Content-Length: 0", "Content-Length: 5")},
		{"negative_length", "give a negative length", here, get("/open/x", "Content-Length: -1")},
		{"signed_length", "give a length with a sign", here, get("/open/x", "Content-Length: +0")},
		{"strange_coding", "use a transfer coding that is nearly chunked", here, get("/open/x", "Transfer-Encoding: xchunked")},
		{"two_codings", "give two transfer codings", here, get("/open/x", "Transfer-Encoding: chunked", "Transfer-Encoding: identity")},
		{"coding_space", "put a space before the colon of the coding", here, get("/open/x", "Transfer-Encoding : chunked")},
		{"connection_host", "have the next hop drop the Host field", here, get("/open/x", "Connection: close, Host")},
		{"connection_authorization", "have the next hop drop the credential", here, get("/open/x", "Connection: Authorization")},
		{"connection_length", "have the next hop drop the length", here, get("/open/x", "Connection: Content-Length")},
		{"upgrade", "change the protocol", here, get("/open/x", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")},
		{"header_nul", "put a NUL into a field", here, get("/open/x", "X-A: a\x00b")},
		{"header_bare_cr", "put a bare CR into a field", here, get("/open/x", "X-A: a\rHost: "+otherName)},
		{"header_flood", "send more fields than fit", here, get("/open/x", "X-A: "+strings.Repeat("a", 70<<10))},
		{"http09", "ask in the first version of the protocol", here, "GET /open/x\r\n\r\n"},
		{"http2_preface", "speak HTTP/2 unasked", here, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"method_override", "carry another method in a field", target{host: boundName}, request("POST", "/in/x", boundName, "X-HTTP-Method-Override: DELETE", "Content-Length: 0")},
		{"path_override", "carry another path in a field", target{host: boundName}, request("GET", "/in/x", boundName, "X-Original-URL: /admin")},
		{"spelled_coding", "carry a coding of the body in a field whose name has an underscore", here, request("POST", "/open/x", host, "Transfer_Encoding: chunked", "Content-Length: 5") + "0\r\n\r\n"},
		{"method_override_query", "carry another method in the query", target{host: boundName}, request("GET", "/in/x?_method=DELETE", boundName)},
	} {
		out = append(out, Attempt{
			Name: "http." + h.name, Tries: h.tries, Must: "it is refused and not forwarded", Guarantee: jail.NetworkOnlyProxy, group: network,
			probe: proxied(func(s *Site) Finding { return judged(s.ask(h.to, "GET", h.raw)) }),
		})
	}
	out = append(out, Attempt{
		Name: "http.old_tls", Tries: "speak a version of TLS before 1.2", Must: "the handshake fails", Guarantee: jail.NetworkOnlyProxy, group: network,
		probe: proxied(func(s *Site) Finding {
			return handshake(s, &tls.Config{ServerName: host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		}),
	}, Attempt{
		Name: "http.other_protocol", Tries: "offer only a protocol that is not HTTP", Must: "the handshake fails", Guarantee: jail.NetworkOnlyProxy, group: network,
		probe: proxied(func(s *Site) Finding {
			return handshake(s, &tls.Config{ServerName: host, InsecureSkipVerify: true, NextProtos: []string{"omnijail-tunnel"}})
		}),
	})
	return append(out, upstreamAttempts()...)
}

// proxied makes an attempt only where a proxy is there to refuse it.
func proxied(probe func(*Site) Finding) func(*Site) Finding {
	return func(s *Site) Finding {
		if !s.Names {
			return notRun("the policy does not have the suite's rules (--allow is not the caller's to use)")
		}
		if err := s.proxied(); err != nil {
			return notRun("%v", err)
		}
		return probe(s)
	}
}

func handshake(s *Site, config *tls.Config) Finding {
	c, err := s.dial("tcp", config.ServerName, 443)
	if err != nil {
		return notRun("%v", err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	return fails(tls.Client(c, config).Handshake())
}
