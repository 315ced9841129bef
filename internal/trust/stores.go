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

// bundleNames are the other names of the PEM bundle. The jail has all of them,
// whatever the node has: a program may come from another distribution.
var bundleNames = []string{
	certsDir + "/ca-bundle.crt", // NixOS
	"/etc/ssl/cert.pem",         // Alpine
	"/etc/ssl/ca-bundle.pem",    // SUSE
	"/etc/pki/tls/cert.pem",     // Fedora, RHEL
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/pki/tls/certs/ca-bundle.trust.crt",
	"/etc/pki/tls/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/openssl/ca-bundle.trust.crt",
}

// anchorNames are where p11-kit looks for certificates of the node's own, for
// GnuTLS and NSS where they are built to ask it (Fedora, RHEL, Arch).
var anchorNames = []string{
	"/etc/pki/ca-trust/source/anchors/omnijail.pem",
	"/etc/ca-certificates/trust-source/anchors/omnijail.pem",
}

// keyStoreFile is Java's store; keyStoreNames are the links by which JDKs of
// distributions find it. It is in the older of the two formats: every JDK reads
// both under either name.
const keyStoreFile = "/run/omnijail/cacerts"

var keyStoreNames = []string{
	certsDir + "/java/cacerts",
	"/etc/pki/ca-trust/extracted/java/cacerts",
	"/etc/pki/java/cacerts",
}

// storeLinks are the same in every jail of the node.
func (n *Node) storeLinks(t *Tree) {
	t.link(debianBundle, bundleFile)
	for _, name := range bundleNames {
		t.link(name, bundleFile)
	}
	for _, name := range anchorNames {
		t.link(name, caFile)
	}
	for _, name := range keyStoreNames {
		t.link(name, keyStoreFile)
	}
	t.link(certsDir+"/omnijail.pem", caFile)
	t.link(fmt.Sprintf("%s/%s.%d", certsDir, subjectHash, n.hashFree), "omnijail.pem")
	browserLinks(t)
}

// stores adds the trust stores: one bundle under all its names, Java's store and
// NSS's database where somebody may read it, the browsers' policy. Without a CA there is no network
// either: the bundle then holds the node's roots alone, and Java has no store.
func (n *Node) stores(t *Tree, in Input) error {
	bundle, ca := n.bundle, in.CADER
	if ca != nil {
		cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca})
		bundle = append(append(make([]byte, 0, len(n.bundle)+len(cert)), n.bundle...), cert...)
		t.file(caFile, cert)
	}
	t.file(bundleFile, bundle)
	if err := browsers(t, ca); err != nil || ca == nil {
		return err
	}
	if err := n.nss(t, ca); err != nil || !n.java && !in.OwnJava {
		return err
	}
	store, err := n.keyStore.finish(ca)
	if err != nil {
		return err
	}
	t.file(keyStoreFile, store)
	for _, p := range n.jdks {
		t.Covers = append(t.Covers, Cover{Path: p, File: keyStoreFile})
	}
	return nil
}
