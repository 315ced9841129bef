package mitm

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// serverConfig answers handshakes for one authority. Of a client's protocols
// HTTP/1.1 is taken first, since it carries large bodies twice as fast, unless a
// rule prefers HTTP/2. One that
// speaks neither it nor HTTP/2 gets the no_application_protocol alert.
//
// The key exchange is a classical one, where the client has one: what passes between
// a jail and this process stays in the node's memory, and is no loot for those who
// record today what they will break some day. Upstreams get the hybrid one.
func serverConfig(a egress.Authority, cert *tls.Certificate, preferHTTP2 bool) *tls.Config {
	protocols := []string{"http/1.1", protoHTTP2}
	if preferHTTP2 {
		slices.Reverse(protocols)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		// A client on the same node does not wait for the end of a long record.
		DynamicRecordSizingDisabled: true,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if !sniMatches(hello.ServerName, a) {
				// No certificate and no error is how crypto/tls is told to
				// send the unrecognized_name alert.
				return nil, nil
			}
			return cert, nil
		},
	}
	every := config.Clone()
	config.CurvePreferences = classical
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if len(hello.SupportedCurves) == 0 || slices.ContainsFunc(hello.SupportedCurves, func(c tls.CurveID) bool { return slices.Contains(classical, c) }) {
			return nil, nil
		}
		return every, nil
	}
	return config
}

var classical = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}

// sniMatches reports whether a client that asked for name means a. A client that
// sends no name is answered for the address it connected to.
func sniMatches(name string, a egress.Authority) bool {
	if name == "" {
		return true
	}
	named, err := egress.AuthorityFrom(name, a.Port())
	return err == nil && named == a
}

// handshake makes conn a TLS connection for a, or returns the code that says why
// there is none, with the number of the client's alert where that was it.
func (p *Proxy) handshake(ctx context.Context, conn net.Conn, a egress.Authority) (tc *tls.Conn, code audit.Code, alert int) {
	config, err := p.leaves.config(a)
	if err != nil {
		return nil, audit.CodeTLS, 0
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	p.share.Begin()
	defer p.share.End()
	p.share.Heed(ctx, handshakeWork)
	pace := &paced{Conn: conn, ctx: ctx, turns: p.turns}
	defer pace.over()
	below := &cork{Conn: pace}
	tc = tls.Server(below, config)
	// A deadline takes no goroutine, as a context would; Close closes conn.
	conn.SetDeadline(time.Now().Add(handshakeTimeout))
	if err := tc.Handshake(); err != nil {
		code, alert = handshakeCode(tc, a, err)
		return nil, code, alert
	}
	// A resumed session did not ask for a certificate, so its name is checked here.
	if !sniMatches(tc.ConnectionState().ServerName, a) {
		return nil, audit.CodeAuthority, 0
	}
	conn.SetDeadline(time.Time{})
	below.Conn = conn
	return tc, "", 0
}

// handshakeCode tells a client that refused our certificate from one that asked
// for another name and from one that is merely broken.
func handshakeCode(tc *tls.Conn, a egress.Authority, err error) (code audit.Code, alert int) {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return audit.CodeTLSClient, alertNumber(op.Err)
	}
	if !sniMatches(tc.ConnectionState().ServerName, a) {
		return audit.CodeAuthority, 0
	}
	return audit.CodeTLS, 0
}

// alertNumber is the number of an alert (RFC 8446 section 6), of which crypto/tls
// exports the words alone.
func alertNumber(alert error) int {
	for n := range 256 {
		if tls.AlertError(n).Error() == alert.Error() {
			return n
		}
	}
	return 0
}
