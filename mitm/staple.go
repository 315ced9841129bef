package mitm

import (
	"crypto/tls"
	"encoding/asn1"
	"errors"
	"math/big"
	"time"
)

// errRevoked refuses an upstream whose own handshake says that its certificate is
// revoked.
var errRevoked = errors.New("the certificate was revoked")

// vetStaple refuses a certificate that the OCSP answer in its handshake calls
// revoked. Nothing is asked of anybody: no address of ours says where to, and who
// holds a stolen key staples nothing. The answer's own signature is not looked at,
// because the handshake is signed by the key that it is about: it can only speak
// against itself.
func vetStaple(cs tls.ConnectionState) error {
	if len(cs.OCSPResponse) == 0 || len(cs.PeerCertificates) == 0 {
		return nil
	}
	if revoked(cs.OCSPResponse, cs.PeerCertificates[0].SerialNumber) {
		return errRevoked
	}
	return nil
}

// The parts of RFC 6960 section 4.2.1 up to the status of each certificate. What
// follows them is passed over.
type (
	ocspResponse struct {
		Status asn1.Enumerated
		Bytes  ocspBytes `asn1:"explicit,tag:0,optional"`
	}
	ocspBytes struct {
		Type     asn1.ObjectIdentifier
		Response []byte
	}
	ocspBasic struct{ Data ocspData }
	ocspData  struct {
		Version   int `asn1:"explicit,tag:0,default:0,optional"`
		Responder asn1.RawValue
		Produced  time.Time `asn1:"generalized"`
		Responses []ocspSingle
	}
	ocspSingle struct {
		Certificate ocspCertID
		Status      asn1.RawValue
	}
	ocspCertID struct {
		Hash            asn1.RawValue
		Issuer, KeyHash []byte
		Serial          *big.Int
	}
)

const ocspRevoked = 1 // the tag of CertStatus

// revoked reports whether an OCSP response calls the certificate of this number
// revoked. One that cannot be read says nothing.
func revoked(der []byte, serial *big.Int) bool {
	var outer ocspResponse
	if _, err := asn1.Unmarshal(der, &outer); err != nil {
		return false
	}
	var basic ocspBasic
	if _, err := asn1.Unmarshal(outer.Bytes.Response, &basic); err != nil {
		return false
	}
	for _, r := range basic.Data.Responses {
		if r.Certificate.Serial.Cmp(serial) == 0 && r.Status.Class == asn1.ClassContextSpecific && r.Status.Tag == ocspRevoked {
			return true
		}
	}
	return false
}
