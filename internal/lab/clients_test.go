package lab

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tunnel is an HTTP proxy whose every CONNECT leads to the upstream.
func tunnel(t *testing.T, u *Upstream) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up, err := net.Dial("tcp", u.HTTPS().String())
		if err != nil || r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer up.Close()
		down, early, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer down.Close()
		io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			io.Copy(up, early) // what the server had read already comes first
			up.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(down, up)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// outside is a client that trusts the lab and reaches it by every name.
func outside(t *testing.T, u *Upstream, env ...string) Client {
	t.Helper()
	home := t.TempDir()
	ca := filepath.Join(home, "ca.pem")
	if err := os.WriteFile(ca, u.CA(), 0o644); err != nil {
		t.Fatal(err)
	}
	c := Client{Dir: home, Env: append(gitEnv(home), TrustCA(ca)...)}
	c.Env = append(c.Env, "HTTPS_PROXY="+tunnel(t, u), "https_proxy="+tunnel(t, u), "GIT_TERMINAL_PROMPT=0")
	c.Env = append(c.Env, env...)
	return c
}

func run(t *testing.T, c Client, argv ...string) Output {
	t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skipf("%s is not installed", argv[0])
	}
	out, err := c.Run(t.Context(), argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGHWorksAgainstTheLab(t *testing.T) {
	u := start(t)
	good := outside(t, u, "GH_TOKEN="+token)
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"gh", "api", "user", "--jq", ".login"}, "octo-lab\n"},
		{[]string{"gh", "api", "graphql", "-f", "query={viewer{login}}", "--jq", ".data.viewer.login"}, "octo-lab\n"},
		{[]string{"gh", "auth", "status"}, "octo-lab"},
	} {
		out := run(t, good, c.argv...)
		if out.Exit != 0 || !strings.Contains(out.Stdout+out.Stderr, c.want) {
			t.Errorf("%v: %+v", c.argv, out)
		}
	}
	if out := run(t, outside(t, u, "GH_TOKEN=wrong"), "gh", "api", "user"); out.Exit == 0 || !strings.Contains(out.Stdout, "Bad credentials") {
		t.Errorf("a wrong token: %+v", out)
	}
}

func TestGitClonesAndPushesAgainstTheLab(t *testing.T) {
	u := start(t)
	if _, err := u.AddRepo(t.Context(), "acme/app"); err != nil {
		t.Fatal(err)
	}
	if _, err := u.AddRepo(t.Context(), "acme/private-app"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"../x", "a/../b", "acme", "acme/app.git", "-x/y z"} {
		if _, err := u.AddRepo(t.Context(), bad); err == nil {
			t.Errorf("AddRepo(%q) worked", bad)
		}
	}
	c := outside(t, u)
	if out := run(t, c, "git", "clone", "-q", "https://github.com/acme/app.git", "app"); out.Exit != 0 {
		t.Fatalf("clone: %+v", out)
	}
	if out := run(t, c, "git", "clone", "-q", "https://github.com/acme/private-app.git", "p"); out.Exit == 0 {
		t.Error("a private repository was cloned without a credential")
	}
	// Larger than http.postBuffer, so that git sends it in chunks.
	big := make([]byte, 3<<20)
	io.ReadFull(io.LimitReader(randomish{}, int64(len(big))), big)
	work := c
	work.Dir = filepath.Join(c.Dir, "app")
	if err := os.WriteFile(filepath.Join(work.Dir, "big"), big, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, work, "git", "add", ".")
	run(t, work, "git", "commit", "-q", "-m", "big")
	if out := run(t, work, "git", "push", "-q", "origin", "main"); out.Exit == 0 {
		t.Error("a push without a credential worked")
	}
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
	// By HTTP/1.1, as in a jail: the curl of Debian 12 now and then keeps the end of a
	// large body over HTTP/2 to itself, and waits for ever (curl/curl#11342).
	out := run(t, work, "git", "-c", "http.version=HTTP/1.1", "-c", "http.extraHeader=Authorization: Basic "+basic, "push", "-q", "origin", "main")
	if out.Exit != 0 {
		t.Fatalf("push: %+v", out)
	}
	if last := u.Seen()[len(u.Seen())-1]; last.Method != "POST" || !last.Authorized || last.Body < 2<<20 {
		t.Errorf("the push was seen as %+v", last)
	}
}

// randomish does not compress.
type randomish struct{}

func (randomish) Read(b []byte) (int, error) {
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return len(b), nil
}

func TestClientInheritsNothing(t *testing.T) {
	t.Setenv("LAB_LEAK", "1")
	out := run(t, Client{Env: []string{"A=b"}}, "env")
	if strings.Contains(out.Stdout, "LAB_LEAK") || !strings.Contains(out.Stdout, "A=b\n") {
		t.Errorf("%q", out.Stdout)
	}
	for script, exit := range map[string]int{"exit 3": 3, "kill -TERM $$": 143} {
		if out := run(t, Client{}, "sh", "-c", script); out.Exit != exit {
			t.Errorf("%s: %d", script, out.Exit)
		}
	}
	if _, err := (Client{}).Run(t.Context(), "/does/not/exist"); err == nil {
		t.Error("a missing program ran")
	}
	if os.Geteuid() == 0 {
		if out := run(t, Client{UID: 1000}, "id", "-u"); out.Stdout != fmt.Sprintln(1000) {
			t.Errorf("%+v", out)
		}
	}
}
