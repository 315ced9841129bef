package trust

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeNode makes a root directory with these files; a name that ends in / is a
// directory, a content that begins with -> a link.
func fakeNode(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	os.MkdirAll(filepath.Join(root, "usr"), 0o755)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("a root")})
	files["/etc/ssl/certs/ca-certificates.crt"] = string(ca)
	for name, content := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "->"); ok {
			err = os.Symlink(target, p)
		} else {
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func compose(t *testing.T, root string) Tree {
	t.Helper()
	n, err := snapshot(root)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := n.Compose(input([]byte("a ca")))
	if err != nil {
		t.Fatal(err)
	}
	tree.add(n.Certificates())
	return tree
}

// paths lists all that a tree shows, without the directories' content.
func paths(tree Tree) map[string]string {
	all := map[string]string{}
	for _, f := range tree.Files {
		all[f.Path] = string(f.Data)
	}
	for _, l := range tree.Links {
		all[l.Path] = "->" + l.Target
	}
	for _, b := range tree.Binds {
		all[b.Path] = "bind"
	}
	return all
}

func TestSecretsOfTheNodeAreNotInTheTree(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"
	root := fakeNode(t, map[string]string{
		"/etc/shadow":                   "root:hash",
		"/etc/passwd":                   "node:x:1:1::/:/bin/sh",
		"/etc/gitconfig":                "[http] extraHeader = secret",
		"/etc/environment":              "HTTP_PROXY=http://user:pw@proxy",
		"/etc/ssl/private/server.key":   key,
		"/etc/ssl/certs/both.pem":       "-----BEGIN CERTIFICATE-----\n" + key,
		"/etc/ssl/certs/out.pem":        "->/etc/ssl/private/server.key",
		"/etc/ssl/certs/good.pem":       "-----BEGIN CERTIFICATE-----",
		"/etc/ssl/certs/abc.0":          "->good.pem",
		"/etc/app/app.conf":             "plain",
		"/etc/app/app.key":              "secret",
		"/etc/app/htpasswd":             "secret",
		"/etc/app/sub/server.pem":       key,
		"/etc/app/sub/other.conf":       "plain",
		"/etc/clean/x.conf":             "plain",
		"/etc/services":                 "http 80/tcp",
		"/etc/profile":                  key,
		"/etc/localtime":                "->/usr/share/zoneinfo/UTC",
		"/etc/os-release":               "->../usr/lib/os-release",
		"/etc/shells":                   "->/home/alice/shells",
		"/usr/share/app/conf":           "->/etc/app",
		"/usr/share/clean/deep/x.conf":  "->../../../../etc/clean/x.conf",
		"/usr/lib/ssl/private":          "->/etc/ssl/private",
		"/usr/share/evil/shadow":        "->/etc/shadow",
		"/usr/share/evil/key":           "->/etc/secret-stuff",
		"/etc/secret-stuff":             "secret",
		"/usr/share/evil/environment":   "->/etc/environment",
		"/etc/unlisted":                 "x",
		"/etc/writable/x":               "x",
		"/usr/share/writable/x":         "->/etc/writable",
		"/home/alice/shells":            "/home/alice/evil",
		"/etc/foreign/x":                "x",
		"/usr/share/foreign/x":          "->/etc/foreign",
		"/usr/share/doc/skipped/x.conf": "->/etc/unlisted",
	})
	os.Chmod(filepath.Join(root, "etc/writable"), 0o777)
	os.Chown(filepath.Join(root, "etc/foreign"), 4242, 4242)
	got := paths(compose(t, root))

	for _, want := range []struct{ path, content string }{
		{"/etc/app/app.conf", "plain"}, {"/etc/app/sub/other.conf", "plain"}, {"/etc/clean", "bind"},
		{"/etc/services", "http 80/tcp"}, {"/etc/localtime", "->/usr/share/zoneinfo/UTC"}, {"/etc/os-release", "->../usr/lib/os-release"},
		{"/etc/ssl/certs/good.pem", "-----BEGIN CERTIFICATE-----"}, {"/etc/ssl/certs/abc.0", "->good.pem"},
		{"/etc/ssl/certs/" + subjectHash + ".0", "->omnijail.pem"},
	} {
		if got[want.path] != want.content {
			t.Errorf("%s is %q, want %q", want.path, got[want.path], want.content)
		}
	}
	for p, content := range got {
		for _, bad := range []string{"secret", "PRIVATE KEY", "hash", "/home/alice/shells", "user:pw", "node:x"} {
			if strings.Contains(content, bad) {
				t.Errorf("%s shows %q", p, bad)
			}
		}
	}
	for _, p := range []string{"/etc/shadow", "/etc/environment", "/etc/app", "/etc/writable", "/etc/foreign", "/etc/unlisted",
		"/etc/shells", "/etc/profile", "/etc/ssl/certs/out.pem", "/etc/ssl/certs/both.pem", "/etc/secret-stuff"} {
		if _, there := got[p]; there {
			t.Errorf("%s is in the tree", p)
		}
	}
}

func TestNoPathTwice(t *testing.T) {
	root := fakeNode(t, map[string]string{
		"/etc/ssl/certs/" + subjectHash + ".0":              "->ca.pem",
		"/etc/ssl/certs/omnijail.pem":                       "-----BEGIN CERTIFICATE-----",
		"/etc/ssl/cert.pem":                                 "->/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt":                  "x",
		"/etc/pki/ca-trust/extracted/java/cacerts":          "x",
		"/etc/pki/java/cacerts":                             "->/etc/pki/ca-trust/extracted/java/cacerts",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem": "x",
		"/usr/share/x":                                      "->/etc/hosts",
		"/usr/share/vendor":                                 "->/etc/opt/vendor",
		"/etc/opt/vendor/x":                                 "x",
		"/etc/ssl/certs/ca-bundle.crt":                      "->/nix/store/x",
		"/etc/firefox/policies/policies.json":               "x",
		"/usr/share/firefox":                                "->/etc/firefox",
		chromiumNames[0]:                                    "x",
		"/etc/chromium/other":                               "x",
	})
	tree := compose(t, root)
	seen := map[string]bool{}
	for _, p := range append(append(names(tree.Files, func(f File) string { return f.Path }),
		names(tree.Links, func(l Link) string { return l.Path })...), names(tree.Binds, func(b Bind) string { return b.Path })...) {
		if seen[p] {
			t.Errorf("%s is there twice", p)
		}
		seen[p] = true
	}
	got := paths(tree)
	for p, want := range map[string]string{
		"/etc/ssl/certs/" + subjectHash + ".1": "->omnijail.pem",
		"/etc/ssl/cert.pem":                    "->" + bundleFile,
		"/etc/pki/tls/certs/ca-bundle.crt":     "->" + bundleFile,
		"/etc/pki/java/cacerts":                "->" + keyStoreFile,
		"/etc/ssl/certs/ca-bundle.crt":         "->" + bundleFile,
		chromiumNames[0]:                       "->" + chromiumFile,
		"/etc/chromium/other":                  "x",
	} {
		if got[p] != want {
			t.Errorf("%s is %q, want %q", p, got[p], want)
		}
	}
}

func names[T any](list []T, name func(T) string) (out []string) {
	for _, v := range list {
		out = append(out, name(v))
	}
	return out
}

func TestNodeWithoutCertificatesIsRefused(t *testing.T) {
	if _, err := snapshot(t.TempDir()); err == nil || !strings.Contains(err.Error(), "ca-certificates") {
		t.Errorf("got %v", err)
	}
}
