package trust

import (
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// nssHome writes the database of a jail into a directory, as init does into a home.
func nssHome(t *testing.T, ca []byte) string {
	t.Helper()
	tree, err := thisNode(t).Compose(Input{CADER: ca, Home: "/home/u", Shell: "/bin/sh"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range tree.Files {
		if name, ok := strings.CutPrefix(f.Path, nssDirectory+"/"); ok {
			if err := os.WriteFile(filepath.Join(dir, name), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestNSSBelievesTheDatabase asks NSS's own tools: the CA is there and trusted, a leaf
// of it is valid and one of another CA is not; and a certificate of the command's own can be added.
func TestNSSBelievesTheDatabase(t *testing.T) {
	ca, leaf := authority(t)
	_, strange := authority(t)
	dir := nssHome(t, ca)
	run := func(program string, args ...string) (string, error) {
		out, err := exec.Command(program, append(args, "-d", "sql:"+dir)...).CombinedOutput()
		return string(out), err
	}
	file := func(name string, der []byte) string {
		p := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(p, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	check := func(when string) {
		t.Helper()
		if out, err := run("certutil", "-L"); err != nil || !strings.Contains(out, "omnijail") || !strings.Contains(out, "C,,") {
			t.Errorf("%s: %v\n%s", when, err, out)
		}
		if out, err := run("certutil", "-V", "-n", "omnijail", "-u", "L"); err != nil {
			t.Errorf("%s: the CA: %v\n%s", when, err, out)
		}
	}
	valid := func(der []byte) bool {
		return exec.Command("vfychain", "-d", "sql:"+dir, "-u", "1", "-a", file("leaf", der)).Run() == nil
	}
	check("as it comes")
	if !valid(leaf) || valid(strange) {
		t.Errorf("its leaf is valid: %v, another CA's: %v", valid(leaf), valid(strange))
	}
	if out, err := run("certutil", "-A", "-n", "own", "-t", "C,,", "-i", file("own", strange)); err != nil {
		t.Errorf("add: %v\n%s", err, out)
	}
	check("with another certificate")
}

// TestNSSIsWhereTheNodeHasIt, and for a CA whose number root has to look for not.
func TestNSSIsWhereTheNodeHasIt(t *testing.T) {
	for name, der := range map[string][]byte{"nothing": {}, "short": make([]byte, 14), "no number": make([]byte, 64), "a number without end": append(make([]byte, 13), 2, 20, 1)} {
		if n := serialNumber(der); n != nil {
			t.Errorf("%s: %x", name, n)
		}
	}
	if keys, err := (reader{root: t.TempDir()}).nssKeys(); keys != nil || err != nil {
		t.Errorf("a node without NSS: %d bytes, %v", len(keys), err)
	}
}

// TestTheSubjectIsTheCAs holds what the stores are prepared for against the CA.
func TestTheSubjectIsTheCAs(t *testing.T) {
	ca := newCA(t)
	dir := nssHome(t, ca)
	out, err := exec.Command("certutil", "-L", "-n", "omnijail", "-d", "sql:"+dir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `Subject: "CN=omnijail jail CA,O=omnijail"`) {
		t.Errorf("%v\n%s", err, out)
	}
}
