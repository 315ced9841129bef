package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ownJDK makes a JDK in a directory, with libraries and certificates of its own.
const ownJDK = `set -e
from=$(dirname "$(dirname "$(readlink -f /usr/bin/java)")")
mkdir -p "$1/bin" "$1/lib/security"
cp "$from/bin/java" "$1/bin/"
cp -r "$from"/lib/*.so "$from/lib/server" "$from/lib/jvm.cfg" "$from/lib/tzdb.dat" "$1/lib/"
cp -L "$from"/lib/security/* "$1/lib/security/"
ln -s "$from/lib/modules" "$1/lib/modules"
ln -s "$from/conf" "$1/conf"
chmod -R a+rX "$1"
`

// TestJavaWithCertificatesOfItsOwn: a JDK of the user's is told of the jail's store,
// in the one way that it listens to. Other JDKs are told nothing, since they say so
// on standard error.
func TestJavaWithCertificatesOfItsOwn(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"clients": clientsPolicy}})
	dir := n.Workspace(t, Alice, javaClients)
	outside(t, "javac", "--release", "11", "-d", dir, filepath.Join(dir, "Old.java"))
	jdk := filepath.Join(n.Home(t, Alice), ".sdkman/candidates/java/17")
	outside(t, "sh", "-c", ownJDK, "sh", jdk)
	const url, notice = "https://api.example.test/user", "Picked up JAVA_TOOL_OPTIONS"

	read := func(path string, argv ...string) Output {
		t.Helper()
		o := n.Run(t, Ctl{UID: Alice, Dir: dir, Env: []string{"E2E_TOKEN=" + Token, "PATH=" + path},
			Args: append([]string{"exec", "--policy", "clients", "--env", "JAVA_TOOL_OPTIONS=-Dmark=1", "--"}, argv...)}).Want(t, 0)
		if !strings.Contains(o.Stdout, `"login":"octocat"`) {
			t.Errorf("%q: %+v", argv, o)
		}
		return o
	}
	if o := read("/usr/bin:/bin", jdk+"/bin/java", "-cp", ".", "Old", url); !strings.Contains(o.Stderr, notice+": -Djavax.net.ssl.trustStore=/run/omnijail/cacerts -Dmark=1\n") {
		t.Errorf("a JDK of the user's says %q", o.Stderr)
	}
	read(jdk+"/bin:/usr/bin:/bin", "java", "-cp", ".", "Old", url)
	if o := read("/usr/bin:/bin", "java", "-cp", ".", "Old", url); !strings.Contains(o.Stderr, notice+": -Dmark=1\n") {
		t.Errorf("the node's JDK says %q", o.Stderr)
	}
}

// TestTheStoreOfAVendorsJDKIsCovered: a JDK below /usr that brings its certificates
// as a file has the jail's in their place, and no notice is given.
func TestTheStoreOfAVendorsJDKIsCovered(t *testing.T) {
	t.Parallel()
	if err := os.MkdirAll("/usr/lib/jvm", 0o755); err != nil {
		t.Fatal(err)
	}
	jdk, err := os.MkdirTemp("/usr/lib/jvm", "omnijail-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(jdk) })
	store := jdk + "/lib/security/cacerts"
	outside(t, "sh", "-c", `mkdir -p "$1/lib/security"; echo vendor >"$1/lib/security/cacerts"; chmod -R a+rX "$1"`, "sh", jdk)
	n := NewNode(t, Options{Policy: map[string]string{"clients": clientsPolicy}})
	check := func(script string) {
		t.Helper()
		n.Run(t, Ctl{UID: Alice, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{"exec", "--policy", "clients", "--", "sh", "-c", script}}).Want(t, 0)
	}
	check("cmp " + store + " /run/omnijail/cacerts && ! echo x >" + store + " && test -z \"$JAVA_TOOL_OPTIONS\"")
	if b, err := os.ReadFile(store); err != nil || string(b) != "vendor\n" {
		t.Errorf("outside it is %q, %v", b, err)
	}
	// A package takes it away while the daemon runs, or makes it a link.
	if err := os.Remove(store); err != nil {
		t.Fatal(err)
	}
	check("test ! -e " + store)
	if err := os.Symlink("/etc/passwd", store); err != nil {
		t.Fatal(err)
	}
	check("grep -q ^nobody: /etc/passwd")
}
