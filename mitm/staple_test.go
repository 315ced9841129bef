package mitm

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
)

// answerOf is what an OCSP responder says of a certificate, as far as it is read: the
// tag of its status is 0 for good, 1 for revoked, 2 for unknown.
func answerOf(t testing.TB, serial *big.Int, tag int) []byte {
	t.Helper()
	when := asn1.RawValue{Tag: asn1.TagGeneralizedTime, Bytes: []byte("20260101000000Z")}
	status := asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag}
	if tag == ocspRevoked {
		status.IsCompound, status.Bytes = true, must(asn1.Marshal(when))
	}
	type single struct {
		ID struct {
			Hash            struct{ Algorithm asn1.ObjectIdentifier }
			Issuer, KeyHash []byte
			Serial          *big.Int
		}
		Status, ThisUpdate asn1.RawValue
	}
	s := single{Status: status, ThisUpdate: when}
	s.ID.Hash.Algorithm, s.ID.Issuer, s.ID.KeyHash, s.ID.Serial = asn1.ObjectIdentifier{1, 3, 14, 3, 2, 26}, []byte("issuer"), []byte("key"), serial
	type data struct {
		Responder, Produced asn1.RawValue
		Responses           []single
	}
	d := data{Responder: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 2, IsCompound: true, Bytes: must(asn1.Marshal([]byte("hash")))}, Produced: when, Responses: []single{s}}
	basic := must(asn1.Marshal(struct {
		Data      data
		Algorithm struct{ Algorithm asn1.ObjectIdentifier }
		Signature asn1.BitString
	}{d, struct{ Algorithm asn1.ObjectIdentifier }{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}}, asn1.BitString{Bytes: []byte("nobody's"), BitLength: 64}}))
	type bytes struct {
		Type     asn1.ObjectIdentifier
		Response []byte
	}
	return must(asn1.Marshal(struct {
		Status asn1.Enumerated
		Bytes  bytes `asn1:"explicit,tag:0"`
	}{0, bytes{asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 1}, basic}}))
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestA49_RevokedStaple has an upstream staple what a responder says of it. One that
// calls it revoked is obeyed, one that cannot be read says nothing.
func TestA49_RevokedStaple(t *testing.T) {
	cert, err := testAuthority().mint(mustAuthority(t, "good.test:443"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	leaf := parsed.SerialNumber
	for name, tt := range map[string]struct {
		staple []byte
		status int
	}{
		"none":      {nil, 200},
		"good":      {answerOf(t, leaf, 0), 200},
		"revoked":   {answerOf(t, leaf, ocspRevoked), 502},
		"another's": {answerOf(t, big.NewInt(7), ocspRevoked), 200},
		"unknown":   {answerOf(t, leaf, 2), 200},
		"try later": {[]byte{0x30, 3, 0x0a, 1, 3}, 200},
		"no answer": {[]byte("not an answer"), 200},
	} {
		for _, max := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(name+" "+tls.VersionName(max), func(t *testing.T) {
				l := newLab(t, labOptions{})
				stapled, up := *cert, &seen{}
				stapled.OCSPStaple = tt.staple
				srv := httptest.NewUnstartedServer(up)
				srv.TLS, srv.Config.ErrorLog = &tls.Config{Certificates: []tls.Certificate{stapled}, MaxVersion: max}, quiet
				srv.StartTLS()
				t.Cleanup(srv.Close)
				l.upstream.Hosts["good.test:443"] = netip.MustParseAddrPort(srv.Listener.Addr().String())
				resp, body := l.ask(send("GET", "/"))
				if resp.StatusCode != tt.status || (tt.status == 200) != (len(up.all()) == 1) {
					t.Errorf("%d %s; the upstream saw %d requests", resp.StatusCode, body, len(up.all()))
				}
				if tt.status == 502 && (resp.Header.Get("X-Omnijail-Code") != string(audit.CodeUpstreamTLS) || resp.Header.Get("X-Omnijail-Reason") != "good.test: certificate_revoked") {
					t.Errorf("refused with %v", resp.Header)
				}
			})
		}
	}
}

// FuzzStaple reads what upstreams staple.
func FuzzStaple(f *testing.F) {
	f.Add(answerOf(f, big.NewInt(7), ocspRevoked))
	f.Add(answerOf(f, big.NewInt(7), 0))
	f.Fuzz(func(t *testing.T, der []byte) { revoked(der, big.NewInt(7)) })
}
