package trust

import (
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCertificateHashIsOpenSSLs has openssl name every root of this node. Some have
// names in several kinds of text.
func TestCertificateHashIsOpenSSLs(t *testing.T) {
	dir := t.TempDir()
	want := map[string]string{}
	for block, rest := pem.Decode(thisNode(t).Roots()); block != nil; block, rest = pem.Decode(rest) {
		name := fmt.Sprintf("%d.pem", len(want))
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		hash, err := certificateHash(block.Bytes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want[name] = hash
	}
	if out, err := exec.Command("openssl", "rehash", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	links, err := filepath.Glob(filepath.Join(dir, "*.[0-9]"))
	if err != nil || len(links) != len(want) || len(links) < 50 {
		t.Fatalf("%d links for %d roots, %v", len(links), len(want), err)
	}
	for _, l := range links {
		name, err := os.Readlink(l)
		if err != nil || filepath.Base(l)[:8] != want[name] {
			t.Errorf("openssl calls %s %s, want %s, %v", name, filepath.Base(l), want[name], err)
		}
	}
}
