package mitm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"syscall"

	"github.com/omnijail/omnijail/internal/audit"
)

// classify turns what went wrong upstream into a code and a class. The class is
// one of a fixed set of words: no address, no name and no text of the upstream's
// reaches the jail through it.
func classify(err error) (audit.Code, string) {
	var de *dialError
	if errors.As(err, &de) {
		return de.code, de.class
	}
	if class := certificateClass(err); class != "" {
		return audit.CodeUpstreamTLS, class
	}
	var alert *net.OpError
	if errors.As(err, &alert) && alert.Op == "remote error" {
		return audit.CodeUpstreamTLS, "handshake_refused"
	}
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return audit.CodeUpstreamTLS, "not_tls"
	}
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return audit.CodeUpstreamTimeout, "timeout"
	}
	return audit.CodeUpstreamProto, "broken_connection"
}

// certificateClass names what is wrong with an upstream's certificate.
func certificateClass(err error) string {
	var (
		verification *tls.CertificateVerificationError
		name         x509.HostnameError
		unknown      x509.UnknownAuthorityError
		invalid      x509.CertificateInvalidError
	)
	switch {
	case errors.Is(err, errRevoked):
		return "certificate_revoked"
	case errors.As(err, &name):
		return "name_mismatch"
	case errors.As(err, &unknown):
		return "unknown_authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "certificate_expired"
	case errors.As(err, &verification):
		return "certificate_invalid"
	}
	return ""
}

func connectClass(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection_refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "unreachable"
	}
	return "connect_failed"
}

func dnsClass(err error) string {
	var de *net.DNSError
	if errors.As(err, &de) && de.IsNotFound {
		return "no_such_name"
	}
	return "lookup_failed"
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
