package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/omnijail/omnijail/mitm"
)

// node reads this machine once for all tests.
var node = sync.OnceValues(Snapshot)

func thisNode(t testing.TB) *Node {
	t.Helper()
	n, err := node()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newCA(t testing.TB) []byte {
	t.Helper()
	ca, err := mitm.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	return ca.DER()
}

// authority returns a CA with the subject of every jail's, and a leaf of it.
func authority(t *testing.T) (ca, leaf []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: mitm.CASubject, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	if ca, err = x509.CreateCertificate(rand.Reader, root, root, key.Public(), key); err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{"example.com"}, NotAfter: time.Now().Add(time.Hour)}
	if leaf, err = x509.CreateCertificate(rand.Reader, tmpl, root, key.Public(), key); err != nil {
		t.Fatal(err)
	}
	return ca, leaf
}

// inside writes tree as a jail's /etc and /run and returns a function that runs a
// command there. bwrap mounts; the tree itself is what is tested.
func inside(t *testing.T, tree Tree) func(args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	at := func(p string) string {
		p = filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	args := []string{"--ro-bind", "/usr", "/usr", "--bind", at("/etc"), "/etc", "--bind", at("/run"), "/run", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"}
	for _, f := range tree.Files {
		if err := os.WriteFile(at(f.Path), f.Data, f.Mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range tree.Links {
		if err := os.Symlink(l.Target, at(l.Path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range tree.Binds {
		if err := os.MkdirAll(at(b.Path), 0o755); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--ro-bind", b.Source, b.Path)
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		if target, err := os.Readlink("/" + name); err == nil {
			args = append(args, "--symlink", target, "/"+name)
		} else {
			args = append(args, "--ro-bind-try", "/"+name, "/"+name)
		}
	}
	return func(command ...string) (string, error) {
		cmd := exec.Command("bwrap", append(args, command...)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/tmp"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// TestProgramsBelieveTheComposedEtc asks real programs what they make of it.
func TestProgramsBelieveTheComposedEtc(t *testing.T) {
	ca, leaf := authority(t)
	tree, err := thisNode(t).Compose(input(ca))
	if err != nil {
		t.Fatal(err)
	}
	shared, err := thisNode(t).Share(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree.Binds = append(tree.Binds, shared)
	tree.file("/run/leaf.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}))
	run := inside(t, tree)
	entries := fmt.Sprintf("%d", strings.Count(string(thisNode(t).Roots()), "BEGIN CERT")+1)
	for _, c := range []struct {
		want    string
		command []string
	}{
		{"/run/leaf.pem: OK", []string{"openssl", "verify", "-no-CAfile", "-CApath", "/etc/ssl/certs", "/run/leaf.pem"}},
		{"/run/leaf.pem: OK", []string{"openssl", "verify", "-no-CApath", "-CAfile", "/etc/ssl/certs/ca-certificates.crt", "/run/leaf.pem"}},
		{"alice:x:4242:4243::/home/alice:/bin/sh", []string{"getent", "passwd", "4242"}},
		{"staff:x:4243:", []string{"getent", "group", "4243"}},
		{"g4244:x:4244:alice", []string{"getent", "group", "4244"}},
		{"::1             localhost", []string{"getent", "hosts", "localhost"}},
		{`Al "the" \ Ice`, []string{"git", "config", "--system", "user.name"}},
		{"blue", []string{"git", "config", "--system", "color.diff.meta"}},
		{"https://github.com/o/r.git", []string{"git", "ls-remote", "--get-url", "git@github.com:o/r.git"}},
		{"https://github.com/o/r", []string{"git", "ls-remote", "--get-url", "ssh://git@github.com/o/r"}},
		{"Your keystore contains " + entries + " entries", []string{"keytool", "-list", "-storetype", "JKS", "-storepass", "changeit", "-keystore", keyStoreNames[0]}},
		{"Your keystore contains " + entries + " entries", []string{"keytool", "-list", "-storetype", "PKCS12", "-storepass", "changeit", "-keystore", keyStoreNames[2]}},
		{"omnijail, Jan 1, 1970, trustedCertEntry", []string{"keytool", "-J-Duser.language=en", "-J-Duser.country=US", "-list", "-cacerts", "-storepass", "changeit", "-alias", "omnijail"}},
	} {
		out, err := run(c.command...)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v\n%s\nwant %q in it", strings.Join(c.command, " "), err, out, c.want)
		}
	}
}

// TestSubjectHashIsOpenSSLs holds the fixed hash to the fixed subject.
func TestSubjectHashIsOpenSSLs(t *testing.T) {
	cmd := exec.Command("openssl", "x509", "-noout", "-subject_hash")
	cmd.Stdin = bytes.NewReader(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: newCA(t)}))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != subjectHash {
		t.Errorf("openssl says %s", got)
	}
}

func BenchmarkCompose(b *testing.B) {
	n, in := thisNode(b), input(newCA(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := n.Compose(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for b.Loop() {
		if _, err := Snapshot(); err != nil {
			b.Fatal(err)
		}
	}
}
