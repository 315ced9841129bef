package e2e

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clientsPolicy authenticates every client of the suite, each on its own host.
const clientsPolicy = `
caller: [cwd, tty, timeout, env, write, read]
write_paths: ["."]
egress_rules:
  - "* github.com/**"
  - "* api.github.com/**"
  - "GET api.example.test/**"
  - "* git.example.test/**"
credential_proxy:
  - {type: gh_basic, foreign: deny, source: {env: E2E_TOKEN}}
  - {type: git_https, target: git.example.test, source: {env: E2E_TOKEN}}
  - {type: https_bearer, target: api.example.test, source: {env: E2E_TOKEN}}
`

// hunt runs its arguments and then looks, from inside, for what must not be
// there: the token, raw or as a Basic password, and proxy variables. The
// patterns do not match themselves, since /proc shows them.
var hunt = `"$@"; rc=$?
if env | grep -i proxy; then exit 91; fi
found=$(grep -saEl -D skip -r '` + hidden(Token) + `|` + hidden(base64.StdEncoding.EncodeToString([]byte("x-access-token:"+Token))) + `' \
  "$HOME" /run /etc /tmp /var /root /home "$PWD" /proc/[0-9]*/environ /proc/[0-9]*/cmdline)
if [ "$found" ]; then echo "$found"; exit 92; fi
exit $rc`

// hidden is a pattern for s in which s itself does not occur.
func hidden(s string) string {
	return s[:8] + "[" + s[8:9] + "]" + strings.ReplaceAll(s[9:], "+", "[+]")
}

// client runs argv as alice in dir with the clients' policy, hunting afterwards.
func (n *Node) client(t testing.TB, dir string, argv ...string) Output {
	t.Helper()
	return n.Run(t, Ctl{
		UID: Alice, Dir: dir, Env: []string{"E2E_TOKEN=" + Token},
		Args: append([]string{"exec", "--policy", "clients", "--", "sh", "-c", hunt, "sh"}, argv...),
	})
}

const goClient = `package main

import ("io"; "net/http"; "os")

func main() {
	resp, err := http.Get(os.Args[1])
	if err != nil {
		panic(err)
	}
	io.Copy(os.Stdout, resp.Body)
}`

// buildGo builds a program for the jail, as static as Go makes it.
func buildGo(t testing.TB, dir, name, source string) {
	t.Helper()
	src := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name), src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestTheHuntFindsWhatIsThere holds that the search for the token, which other
// tests rely on, is one.
func TestTheHuntFindsWhatIsThere(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"clients": clientsPolicy}})
	dir := n.Workspace(t, Alice, nil)
	n.client(t, dir, "sh", "-c", "printf %s%s "+Token[:5]+" "+Token[5:]+" > $HOME/x").Want(t, 92)
	n.client(t, dir, "true").Want(t, 0)
}
