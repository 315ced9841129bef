package trust

import (
	"crypto/md5"  // both are how NSS finds what it trusts;
	"crypto/sha1" // they protect nothing
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// NSS has its certificates in a database in the user's home, sql:~/.pki/nssdb: that
// of Chromium and of what is built of it (Electron, headless shells, what browser
// tests download), whose administrator's policy not all of them read, and of
// certutil. It must be the user's, to be opened at all, so init copies it from here
// into the home, as the user.
const nssDirectory = "/run/omnijail/nssdb"

// The objects and values of PKCS #11 that stand for a certificate and the trust in it.
const (
	classCertificate = 0x00000001
	classTrust       = 0xce534353
	trustedDelegator = 0xce534352
	mustVerify       = 0xce534353
	trustUnknown     = 0xce53435b
)

// nssColumns are the attributes, named by their numbers, that an object may have.
const nssColumns = "a0 a1 a2 a3 a11 a80 a81 a82 a101 a102 a170 ace536358 ace536359 ace53635a ace53635b ace536360 ace5363b4 ace5363b5"

// caSubject is the subject, and issuer, of every jail's CA: see subjectHash.
var caSubject = pkix.Name{Organization: []string{"omnijail"}, CommonName: "omnijail jail CA"}

// nss adds the database that trusts the CA der, where the node has NSS.
func (n *Node) nss(t *Tree, der []byte) error {
	number := serialNumber(der)
	if n.nssKeys == nil || number == nil {
		return nil
	}
	certificates, err := nssCertificates(der, number)
	if err != nil {
		return fmt.Errorf("NSS database: %w", err)
	}
	t.file(nssDirectory+"/cert9.db", certificates)
	t.file(nssDirectory+"/key4.db", n.nssKeys)
	return nil
}

// nssCertificates is the database of one CA that is trusted for servers.
func nssCertificates(der, number []byte) ([]byte, error) {
	subject, err := asn1.Marshal(caSubject.ToRDNSequence())
	if err != nil {
		return nil, err
	}
	sum1, sum5 := sha1.Sum(der), md5.Sum(der)
	yes, no := []byte{1}, []byte{0}
	return sqlite([]sqliteTable{{
		name: "nssPublic", sql: "CREATE TABLE nssPublic (id INTEGER PRIMARY KEY, " + strings.ReplaceAll(nssColumns, " ", ", ") + ")",
		rows: [][]any{
			{nil, ulong(classCertificate), yes, no, []byte("omnijail"), der, ulong(0), subject, number, subject, sum1[:], yes},
			{nil, ulong(classTrust), yes, no, []byte("omnijail"), nil, nil, subject, number, nil, nil, yes,
				ulong(trustedDelegator), ulong(trustUnknown), ulong(mustVerify), ulong(mustVerify), no, sum1[:], sum5[:]},
		},
	}})
}

// nssLibraries is where distributions have it. Programs that bring NSS themselves
// bring a policy's place too: see browsers.go.
var nssLibraries = []string{"/usr/lib/*/libnss3.so", "/usr/lib64/libnss3.so", "/usr/lib/libnss3.so"}

// nssKeys is the database of keys beside it, which has none and no password; nil on a
// node without NSS.
func (r reader) nssKeys() ([]byte, error) {
	there := func(pattern string) bool {
		found, _ := filepath.Glob(r.host(pattern)) // our patterns are well-formed
		return len(found) > 0
	}
	if !slices.ContainsFunc(nssLibraries, there) {
		return nil, nil
	}
	return sqlite([]sqliteTable{
		{name: "nssPrivate", sql: "CREATE TABLE nssPrivate (id INTEGER PRIMARY KEY, " + strings.ReplaceAll(nssColumns, " ", ", ") + ")"},
		{name: "metaData", sql: "CREATE TABLE metaData (id PRIMARY KEY UNIQUE ON CONFLICT REPLACE, item1, item2)", keys: true},
	})
}

// ulong is a number as NSS stores it, whatever the machine.
func ulong(v uint32) []byte { return []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)} }

// serialNumber is the number of a jail's CA with its tag and length, nil where it is
// not where it has to be. Root reads no more than this frame of what the egress
// process wrote: two sequences of more than 255 bytes, the version, the number.
func serialNumber(der []byte) []byte {
	const at, integer, most = 4 + 4 + 5, 0x02, 20
	if len(der) < at+2 || der[at] != integer || der[at+1] > most || len(der) < at+2+int(der[at+1]) {
		return nil
	}
	return der[at : at+2+int(der[at+1])]
}
