package trust

import (
	"encoding/pem"
	"fmt"
)

// subjectHash is how OpenSSL names the subject of every jail's CA in a directory
// of certificates ("O=omnijail, CN=omnijail jail CA"). The subject is fixed so
// that root need not look into a certificate that the egress process wrote.
const subjectHash = "c7929e58"

const certsDir = "/etc/ssl/certs"

// debianBundle is there in every jail: most clients look at it first.
const debianBundle = certsDir + "/ca-certificates.crt"

// bundleNames are the other names of the PEM bundle. The jail has those that the
// node has.
var bundleNames = []string{
	"/etc/ssl/cert.pem",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cert.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/pki/tls/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/openssl/ca-bundle.trust.crt",
}

// keyStoreNames are the places of Java's cacerts.
var keyStoreNames = []string{
	certsDir + "/java/cacerts",
	"/etc/pki/ca-trust/extracted/java/cacerts",
	"/etc/pki/java/cacerts",
}

// stores adds the trust stores: one bundle under all its names, the directory of
// subject hashes, the key store. Without a CA there is no network either: the
// bundle then holds the node's roots alone, and Java has no store.
func (n *Node) stores(t *Tree, ca []byte) error {
	bundle := n.bundle
	if ca != nil {
		cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca})
		bundle = append(append(make([]byte, 0, len(n.bundle)+len(cert)), n.bundle...), cert...)
		t.file(caFile, cert)
		t.link(certsDir+"/omnijail.pem", caFile)
		t.link(fmt.Sprintf("%s/%s.%d", certsDir, subjectHash, n.hashFree), "omnijail.pem")
	}
	t.file(bundleFile, bundle)
	t.link(debianBundle, bundleFile)
	for _, name := range n.bundleNames {
		t.link(name, bundleFile)
	}
	if len(n.keyStoreNames) == 0 || ca == nil {
		return nil
	}
	store, err := n.keyStore.finish(ca)
	if err != nil {
		return err
	}
	t.file(n.keyStoreNames[0], store)
	for _, name := range n.keyStoreNames[1:] {
		t.link(name, n.keyStoreNames[0])
	}
	return nil
}
