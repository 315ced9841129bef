package lab

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"sync"
	"time"
)

// Names whose certificates are bad, each in its own way.
const (
	ExpiredName   = "expired.example.test"
	WrongName     = "wrong-name.example.test" // names another host
	UntrustedName = "untrusted.example.test"  // signed by itself
)

// authority signs a certificate for any name that a client asks for.
type authority struct {
	key  crypto.Signer
	cert *x509.Certificate

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, leaves: map[string]*tls.Certificate{}}
	template := template("omnijail lab CA")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	a.cert, err = x509.ParseCertificate(der)
	return a, err
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails since Go 1.24
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// certificate answers a handshake. A client that names nobody is turned away,
// because no test means to do that.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" {
		return nil, errors.New("the client names no server")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if leaf := a.leaves[name]; leaf != nil {
		return leaf, nil
	}
	leaf, err := a.sign(name)
	if err == nil {
		a.leaves[name] = leaf
	}
	return leaf, err
}

func (a *authority) sign(name string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := template(name)
	leaf.DNSNames = []string{name}
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	parent, signer := a.cert, a.key
	switch name {
	case ExpiredName:
		leaf.NotBefore, leaf.NotAfter = leaf.NotBefore.AddDate(-1, 0, 0), leaf.NotBefore
	case WrongName:
		leaf.DNSNames = []string{"another.example.test"}
	case UntrustedName:
		parent, signer = leaf, key
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
