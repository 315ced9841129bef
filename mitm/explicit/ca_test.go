package explicit_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"

	"github.com/elazarl/goproxy"

	"github.com/omnijail/omnijail/internal/lab"
)

// TestNothingChainsToTheBuiltInCA: the library links a CA in whose key everyone has.
// What a jail is served, by the front or on a plain connection, must not be its.
func TestNothingChainsToTheBuiltInCA(t *testing.T) {
	up, err := lab.NewUpstream(t.Context(), lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	builtIn, err := x509.ParseCertificate(goproxy.GoproxyCa.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(builtIn)
	proxy, _ := newProxy(t, up)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go proxy.ServeExplicit(l)
	for range 2 { // a fresh leaf and one that was kept
		tc := tls.Client(tunnel(t, connect(t, l.Addr().String())), &tls.Config{ServerName: site, InsecureSkipVerify: true})
		if err := tc.Handshake(); err != nil {
			t.Fatal(err)
		}
		for _, cert := range tc.ConnectionState().PeerCertificates {
			if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err == nil {
				t.Errorf("%s chains to the built-in CA", cert.Subject)
			}
			if cert.CheckSignatureFrom(builtIn) == nil || cert.Issuer.String() == builtIn.Subject.String() {
				t.Errorf("%s is the built-in CA's", cert.Subject)
			}
		}
	}
}
