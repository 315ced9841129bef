package selftest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// target is where a request goes and how.
type target struct {
	host  string // a name, or an address
	port  int    // default 443, 80 for plain
	sni   string // default host
	plain bool   // no TLS
}

// dial connects to an address or a name, by the resolver of where this runs.
func (s *Site) dial(network, host string, port int) (net.Conn, error) {
	if s.Via != "" {
		return net.DialTimeout(network, s.Via, patience)
	}
	return net.DialTimeout(network, net.JoinHostPort(host, itoa(port)), patience)
}

// open connects as t says, up to the point where a request can be written.
func (s *Site) open(t target) (net.Conn, error) {
	port := t.port
	switch {
	case port != 0:
	case t.plain:
		port = 80
	default:
		port = 443
	}
	c, err := s.dial("tcp", t.host, port)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(patience))
	if t.plain {
		return c, nil
	}
	sni := t.sni
	if sni == "" {
		sni = t.host
	}
	// What is tested is what the proxy refuses, not what this client would.
	client := tls.Client(c, &tls.Config{ServerName: sni, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err := client.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	return client, nil
}

// ask sends raw and reads one reply, whose request had the given method.
func (s *Site) ask(t target, method, raw string) (*http.Response, error) {
	c, err := s.open(t)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Write([]byte(raw)); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
}

// forwarded are the codes that mean that a request was judged good.
var forwarded = map[string]bool{
	"allowed": true, "upstream_dns": true, "upstream_connect": true, "upstream_tls": true, "upstream_timeout": true, "upstream_protocol": true,
	"private_address": true, "metadata_address": true, "own_address": true, "denied_address": true, "credential_unavailable": true,
}

// judged says whether a reply is a refusal of the proxy's.
func judged(resp *http.Response, err error) Finding {
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		return succeeded("neither refused nor answered within %v", patience)
	default:
		return refused("%v", err)
	}
	switch code := resp.Header.Get("X-Omnijail-Code"); {
	case code == "" && resp.StatusCode == http.StatusBadRequest && resp.Header.Get("Server") == "":
		return refused("%s", resp.Status)
	case code == "":
		return succeeded("it was answered: %s", resp.Status)
	case forwarded[code]:
		return succeeded("it was let through: %s", code)
	default:
		return refused("%d %s", resp.StatusCode, code)
	}
}

var proxy struct {
	sync.Once
	err error
}

// proxied makes sure that there is a proxy to refuse anything: a name that is
// allowed resolves, its TLS is taken, and a denied path is refused as such.
func (s *Site) proxied() error {
	proxy.Do(func() {
		if s.Via != "" {
			return
		}
		resp, err := s.ask(target{host: allowedName}, "GET", request("GET", "/closed", allowedName))
		switch {
		case err != nil:
			proxy.err = fmt.Errorf("no proxy answers for %s: %w", allowedName, err)
		case resp.Header.Get("X-Omnijail-Code") == "":
			proxy.err = fmt.Errorf("what answers for %s is not the proxy: %s", allowedName, resp.Status)
		}
	})
	return proxy.err
}

// request renders a request without a body.
func request(method, path, host string, fields ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, host)
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	return b.String() + "\r\n"
}
