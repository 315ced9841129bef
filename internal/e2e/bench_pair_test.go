package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// keyPair is a certificate that an upstream shows and that other proxies sign
// with. Its key is of the kind that is fastest for all of them, ECDSA P-256.
type keyPair struct {
	pair     tls.Certificate
	certFile string // in PEM
	pairFile string // key and certificate in PEM
}

func newKeyPair(t testing.TB) keyPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"bench.example.test", floodHost}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	der, err1 := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	pkcs8, err2 := x509.MarshalPKCS8PrivateKey(key)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pair := slices.Concat(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), cert)
	dir := openDir(t)
	id := keyPair{certFile: filepath.Join(dir, "cert.pem"), pairFile: filepath.Join(dir, "pair.pem")}
	err = errors.Join(err1, err2, os.WriteFile(id.certFile, cert, 0o644), os.WriteFile(id.pairFile, pair, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if id.pair, err = tls.X509KeyPair(cert, pair); err != nil {
		t.Fatal(err)
	}
	return id
}

// openDir is a directory that other users reach. It ends with the test.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oj-open-")
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
