package trust

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// rootVariable has the test binary compose from another root, as on a node of its
// own: links of other distributions are absolute.
const rootVariable = "TRUST_TEST_ROOT"

func TestMain(m *testing.M) {
	root := os.Getenv(rootVariable)
	if root == "" {
		os.Exit(m.Run())
	}
	if err := composeBelow(root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// composeBelow writes a tree as JSON. Its CA is on standard input.
func composeBelow(root string) error {
	var ca []byte
	if err := json.NewDecoder(os.Stdin).Decode(&ca); err != nil {
		return err
	}
	if err := syscall.Chroot(root); err != nil {
		return err
	}
	n, err := Snapshot()
	if err != nil {
		return err
	}
	tree, err := n.Compose(input(ca))
	if err != nil {
		return err
	}
	tree.add(n.Certificates())
	return json.NewEncoder(os.Stdout).Encode(tree)
}

// layouts are where distributions keep what programs trust. BUNDLE stands for the
// bytes of a real bundle, ROOT for one certificate of it, HASH for its name, FILE
// for where this machine's programs find it.
var layouts = []struct {
	name   string
	files  map[string]string
	java   bool
	covers []string
}{
	{"RHEL", map[string]string{
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem":       "BUNDLE",
		"/etc/pki/ca-trust/extracted/openssl/ca-bundle.trust.crt": "other format",
		"/etc/pki/ca-trust/extracted/java/cacerts":                "node's own",
		"/etc/pki/tls/cert.pem":                                   "->/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/pki/tls/certs/ca-bundle.crt":                        "->/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/pki/java/cacerts":                                   "->/etc/pki/ca-trust/extracted/java/cacerts",
		"/etc/ssl/certs":                                          "->../pki/tls/certs",
		"/usr/lib/jvm/java-17-openjdk/lib/security/cacerts":       "->../../../../../../etc/pki/java/cacerts",
	}, true, nil},
	{"Alpine", map[string]string{
		"/etc/ssl/certs/ca-certificates.crt":        "BUNDLE",
		"/etc/ssl/cert.pem":                         "->certs/ca-certificates.crt",
		"FILE":                                      "ROOT",
		"/etc/ssl/certs/ca-cert-A.pem":              "->FILE",
		"/etc/ssl/certs/HASH.0":                     "->ca-cert-A.pem",
		"/usr/lib/jvm/java-21/lib/security/cacerts": "->/etc/ssl/certs/java/cacerts",
	}, true, nil},
	{"NixOS", map[string]string{
		"/nix/store/a-nss-cacert/etc/ssl/certs/ca-bundle.crt": "BUNDLE",
		"/nix/store/b-etc/etc/ssl/certs/ca-certificates.crt":  "->/nix/store/a-nss-cacert/etc/ssl/certs/ca-bundle.crt",
		"/nix/store/b-etc/etc/ssl/certs/ca-bundle.crt":        "->/nix/store/a-nss-cacert/etc/ssl/certs/ca-bundle.crt",
		"/etc/static":                        "->/nix/store/b-etc/etc",
		"/etc/ssl/certs/ca-certificates.crt": "->/etc/static/ssl/certs/ca-certificates.crt",
		"/etc/ssl/certs/ca-bundle.crt":       "->/etc/static/ssl/certs/ca-bundle.crt",
		"/etc/pki/tls/certs/ca-bundle.crt":   "->/etc/static/ssl/certs/ca-bundle.crt",
	}, false, nil},
	{"links to nothing, and a vendor's JDK", map[string]string{
		"/etc/ssl/ca-bundle.pem":                            "BUNDLE",
		"/etc/ssl/certs/ca-certificates.crt":                "->/var/gone",
		"/etc/ssl/cert.pem":                                 "->gone",
		"/etc/pki/tls/cert.pem":                             "->/etc/gone/cert.pem",
		"/etc/ssl/certs/java/cacerts":                       "->/var/gone",
		"/usr/lib/jvm/temurin-25/lib/security/cacerts":      "vendor's",
		"/usr/lib/jvm/default":                              "->temurin-25",
		"/usr/lib/jvm/old-8/jre/lib/security/cacerts":       "vendor's",
		"/usr/lib/jvm/of-debian/lib/security/cacerts":       "->/etc/ssl/certs/java/cacerts",
		"/usr/lib/jvm/for-everyone/lib/security/cacerts/is": "a directory",
	}, true, []string{"/usr/lib/jvm/temurin-25/lib/security/cacerts", "/usr/lib/jvm/old-8/jre/lib/security/cacerts"}},
}

// verify asks openssl about a leaf of the jail's CA and a root of the node's,
// under every name of the bundle and in the directory.
const verify = `for f in "$@" $SSL_CERT_FILE; do for c in /run/leaf.pem /run/root.pem; do
	openssl verify -no-CApath -CAfile $f $c >/dev/null || { echo "$f: $c"; exit 1; }; done; done
for c in /run/leaf.pem /run/root.pem; do openssl verify -no-CAfile -CApath /etc/ssl/certs $c || exit 1; done
for f in ` + "/etc/pki/ca-trust/source/anchors/omnijail.pem /etc/ca-certificates/trust-source/anchors/omnijail.pem" + `; do cmp $f /run/omnijail/ca.pem || exit 1; done`

func TestStoresOfOtherDistributions(t *testing.T) {
	ca, leaf := authority(t)
	roots := thisNode(t).Roots()
	single, err := filepath.Glob("/usr/share/ca-certificates/mozilla/*.crt")
	if err != nil || len(single) == 0 {
		t.Fatalf("Debian's ca-certificates are needed: %v", err)
	}
	text, err := os.ReadFile(single[0])
	if err != nil {
		t.Fatal(err)
	}
	root, _ := pem.Decode(text)
	hash, err := certificateHash(root.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			files := map[string]string{}
			for name, content := range l.files {
				words := strings.NewReplacer("BUNDLE", "# a comment\n"+string(roots), "ROOT", string(pem.EncodeToMemory(root)), "HASH", hash, "FILE", single[0])
				files[words.Replace(name)] = words.Replace(content)
			}
			tree := composedOf(t, files, ca)
			var covers []string
			for _, c := range tree.Covers {
				covers = append(covers, c.Path)
			}
			slices.Sort(covers)
			slices.Sort(l.covers)
			if !slices.Equal(covers, l.covers) {
				t.Errorf("covers %q, want %q", covers, l.covers)
			}
			tree.file("/run/leaf.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}))
			tree.file("/run/root.pem", pem.EncodeToMemory(root))
			tree.Covers = nil // this machine has other JDKs
			run := inside(t, tree)
			if out, err := run(append([]string{"sh", "-c", verify, "sh", debianBundle}, bundleNames...)...); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if _, there := paths(tree)[keyStoreFile]; there != l.java {
				t.Errorf("Java's store is there: %v", there)
			}
		})
	}
}

// composedOf lays a root out, composes from there and returns the tree.
func composedOf(t *testing.T, files map[string]string, ca []byte) (tree Tree) {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != "/tmp"; d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		p := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		if target, ok := strings.CutPrefix(files[name], "->"); ok && err == nil {
			err = os.Symlink(target, p)
		} else if err == nil {
			err = os.WriteFile(p, []byte(files[name]), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{rootVariable + "=" + dir}
	cmd.Stdin = strings.NewReader(`"` + base64.StdEncoding.EncodeToString(ca) + `"`)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}
