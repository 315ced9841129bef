package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Credentials that come by each way.
const (
	fileSecret    = "file-Zq8vN4xKcW2rT7yB9mLd"
	commandSecret = "command-Hj5sPq3wEf6uYt8nVb1x"
)

const secretsPolicy = `
caller: [cwd, tty, timeout, env, write, read]
write_paths: ["."]
egress_rules: ["* github.com/**", "* api.github.com/**", "GET api.example.test/**", "GET other.test/**"]
credential_proxy:
  - {type: gh_basic, foreign: deny, source: {env: E2E_TOKEN}}
  - {type: https_bearer, target: api.example.test, env: FILE_TOKEN, source: {file: ~/token}}
  - {type: https_header, header: X-Api-Key, target: other.test, env: COMMAND_TOKEN, source: {command: [/bin/cat, %s]}}
`

// lookAround searches, from inside, everything that the jail can read but the
// node's programs, and its own memory; patterns do not match themselves. Nor is there
// a private key, as the jail's CA has one.
func lookAround(secrets ...string) string {
	var patterns []string
	for _, s := range secrets {
		for _, form := range forms(s) {
			patterns = append(patterns, hidden(form))
		}
	}
	return `p='` + strings.Join(patterns, "|") + `'
		env | grep -aE "$p"; export -p | grep -aE "$p"
		for d in /*; do case $d in /usr|/lib*|/bin|/sbin|/proc|/sys|/opt) ;; *) grep -rsalE -D skip "$p" $d;; esac; done
		grep -rsalE -D skip 'PRIVATE KEY' /etc /run /tmp /dev/shm $HOME .
		for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/comm /proc/net/* /proc/keys /proc/self/mountinfo; do grep -saE "$p" $f; done
		true`
}

func TestS12_SecretsAreNowhere(t *testing.T) {
	n := NewNode(t, Options{})
	command := filepath.Join(n.Workspace(t, Alice, map[string]string{"s": commandSecret + "\n"}), "s")
	n.write(t, "policies/secrets.yaml", fmt.Sprintf(secretsPolicy, command))
	token := filepath.Join(n.Home(t, Alice), "token")
	if err := errors.Join(os.WriteFile(token, []byte(fileSecret+"\n"), 0o600), os.Chown(token, Alice, Alice), os.Chmod(command, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Lab.AddRepo(t.Context(), "acme/private-app"); err != nil {
		t.Fatal(err)
	}
	dir := n.Workspace(t, Alice, nil)
	secrets := []string{Token, fileSecret, commandSecret}
	script := `
		gh api user >/dev/null; git clone -q https://github.com/acme/private-app.git app
		curl -sS -D h1 -o b1 https://api.example.test/user; curl -sS -D h2 -o b2 https://other.test/user
		curl -sS -H "Authorization: Bearer $FILE_TOKEN" https://api.example.test/user -o b3
		curl -s https://evil.test/ -o b4; curl -s -d "$FILE_TOKEN" https://api.example.test/x -o b5; curl -s "https://api.example.test/?q=$COMMAND_TOKEN" -o b6
		` + lookAround(secrets...) + `; echo looked; read x`
	r := n.launch(t, Ctl{UID: Alice, Dir: dir, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{"exec", "--policy", "secrets", "--", "sh", "-c", "{ " + script + "; } 2>/dev/null"}})
	r.says(t, "looked\n")
	t.Run("not inside", func(t *testing.T) {
		if r.out.String() != "looked\n" {
			t.Errorf("found inside: %q", r.out.String())
		}
		searchFiles(t, dir, secrets...)
		o := n.sh(t, dir, "x="+Token[:9]+"; printf %s%s $x "+Token[9:]+" | tee $HOME/planted | base64 -w0 > /tmp/encoded; "+lookAround(Token))
		if !strings.Contains(o, "/planted\n") || !strings.Contains(o, "/tmp/encoded\n") {
			t.Errorf("the search inside does not find what is there: %q", o)
		}
	})
	t.Run("not in the daemon's memory", func(t *testing.T) {
		m := memory(t, n.PID())
		if len(m) < 1<<20 {
			t.Errorf("only %d bytes could be read", len(m))
		}
		for _, s := range secrets {
			if names := found(m, s); names != nil {
				t.Errorf("omnijaild holds %q: %v", s, names)
			}
		}
	})
	t.Run("not in the metrics", func(t *testing.T) {
		page := n.metrics(t)
		if !strings.Contains(page, "omnijail_credential_uses_total ") || strings.Contains(page, "omnijail_credential_uses_total 0\n") {
			t.Errorf("no credential was counted:\n%s", page)
		}
		for _, s := range secrets {
			if names := found([]byte(page), s); names != nil {
				t.Errorf("they hold %q: %v", s, names)
			}
		}
	})
	t.Run("not in arguments and environments", func(t *testing.T) { searchProcesses(t, secrets...) })
	t.Run("but where they are used", func(t *testing.T) {
		pids := egressOf(t, n)
		if len(pids) != 2 { // the jail without a policy of the operator's has its own
			t.Fatalf("egress processes: %v", pids)
		}
		m := append(memory(t, pids[0]), memory(t, pids[1])...)
		for _, s := range secrets {
			if found(m, s) == nil {
				t.Errorf("the search does not find %q in the egress process, which has it", s)
			}
		}
		for _, want := range []string{"/user", "/acme/private-app.git/info/refs?service=git-upload-pack"} {
			authorized := false
			for _, seen := range n.Lab.Seen() {
				authorized = authorized || seen.Target == want && seen.Authorized
			}
			if !authorized {
				t.Errorf("the upstream saw no authenticated %s", want)
			}
		}
	})
	r.stdin.Close()
	o := r.finish(t)
	n.Stop(t)
	t.Run("not in what is left", func(t *testing.T) {
		searchFiles(t, n.Dir+"/state", secrets...)
		for _, s := range secrets {
			if names := found([]byte(n.Log()+o.Stdout+o.Stderr), s); names != nil {
				t.Errorf("the log holds %q: %v", s, names)
			}
		}
	})
}
