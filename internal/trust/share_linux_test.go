package trust

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestShareWritesOnce wants the directory of certificates as it would be composed,
// readable for everyone whatever the umask, and none written twice.
func TestShareWritesOnce(t *testing.T) {
	dir := t.TempDir()
	of := func(files map[string]string) (*Node, Bind) {
		n, err := snapshot(fakeNode(t, files))
		if err != nil {
			t.Fatal(err)
		}
		mask := syscall.Umask(0o077)
		b, err := n.Share(dir)
		syscall.Umask(mask)
		if err != nil {
			t.Fatal(err)
		}
		return n, b
	}
	one := map[string]string{"/etc/ssl/certs/good.pem": "-----BEGIN CERTIFICATE-----", "/etc/ssl/certs/abc.0": "->good.pem"}
	n, first := of(one)
	if first.Path != "/etc/ssl/certs" {
		t.Errorf("it takes the place of %s", first.Path)
	}
	for p, want := range paths(n.Certificates()) {
		at := filepath.Join(first.Source, p[len(certsDir):])
		got, err := os.Readlink(at)
		if err == nil {
			got = "->" + got
		} else {
			data, _ := os.ReadFile(at)
			got = string(data)
			if st, err := os.Stat(at); err != nil || st.Mode().Perm() != 0o644 {
				t.Errorf("%s: %v, %v", at, st, err)
			}
		}
		if got != want {
			t.Errorf("%s is %q, want %q", at, got, want)
		}
	}
	for _, d := range []string{first.Source, filepath.Join(first.Source, "java")} {
		if st, err := os.Stat(d); err != nil || st.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", d, st, err)
		}
	}
	if _, again := of(one); again != first {
		t.Errorf("the same content is at %s and at %s", first.Source, again.Source)
	}
	if _, other := of(map[string]string{"/etc/ssl/certs/other.pem": "-----BEGIN CERTIFICATE-----"}); other == first {
		t.Error("other certificates are at the same place")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}
}
