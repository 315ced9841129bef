package mitm

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// CASubject is the subject of every jail's CA. It is fixed so that a trust store
// can be prepared before the certificate exists.
var CASubject = pkix.Name{Organization: []string{"omnijail"}, CommonName: "omnijail jail CA"}

const (
	caLife    = 365 * 24 * time.Hour // a jail's CA dies with the jail; this only bounds a copy
	clockSkew = 24 * time.Hour       // certificates begin this long ago
)

// CA is one jail's certificate authority. Its keys live in this process's memory
// only and die with it. A CA also holds the one key that all leaves of the jail
// share: minting a key per leaf would cost and protect nothing.
type CA struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	leafKey *ecdsa.PrivateKey
}

// NewCA makes a fresh authority: ECDSA P-256, valid for one year, able to sign
// leaves only.
func NewCA() (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("jail CA key: %w", err)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("leaf key: %w", err)
	}
	now := time.Now()
	tmpl := &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               CASubject,
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(caLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("jail CA certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("jail CA certificate: %w", err)
	}
	return &CA{cert: cert, key: key, leafKey: leafKey}, nil
}

// DER returns the CA's certificate, the only part of it that leaves the process.
func (c *CA) DER() []byte { return c.cert.Raw }

// newSerial returns 127 random bits: positive, and never twice.
func newSerial() *big.Int {
	var b [16]byte
	rand.Read(b[:]) // never fails since Go 1.24
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b[:])
}
