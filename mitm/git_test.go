package mitm

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
)

// gitRig is a repository behind git http-backend that only the credential opens.
// git is told where git.test is by address, which leaves the port as it is: so
// the authority has the port of the test's listener. PORT in a rule stands for it.
func gitRig(t *testing.T, rules ...string) (url string, env []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	authority := "git.test:" + port
	for i := range rules {
		rules[i] = strings.ReplaceAll(rules[i], "PORT", port)
	}
	r := newRig(t, options{rules: rules, bindings: []creds.Binding{{
		Name: "git", Type: creds.Git, Foreign: creds.ForeignForward, Username: "x-access-token",
		Targets: []creds.Target{{Authority: mustAuthority(t, authority), Scheme: creds.SchemeBasic}},
		Sources: []creds.Source{{Kind: creds.SourceEnv, Env: "TOKEN"}},
	}}})
	r.resolve(0)
	h := gitBackend(t)
	up := r.upstreamFor(authority, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, pass, _ := req.BasicAuth(); pass != secretValue {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, req)
	}))
	r.upstream.Hosts[authority] = netip.MustParseAddrPort(up)
	r.openOn(l, authority)
	return "https://" + authority + "/app.git", []string{
		"GIT_SSL_CAINFO=" + r.caFile(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@test",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=http.curloptResolve", "GIT_CONFIG_VALUE_0=" + authority + ":127.0.0.1",
		"GIT_CONFIG_KEY_1=http.postBuffer", "GIT_CONFIG_VALUE_1=65536",
	}
}

// gitBackend serves one empty repository that takes pushes.
func gitBackend(t *testing.T) http.Handler {
	t.Helper()
	root := t.TempDir()
	repo := filepath.Join(root, "app.git")
	git(t, nil, 0, "init", "-q", "--bare", repo)
	git(t, nil, 0, "-C", repo, "config", "http.receivepack", "true")
	libexec, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	h := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(libexec)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + root},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// CGI has no chunks: it wants to know the length.
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		req.Body, req.ContentLength, req.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		h.ServeHTTP(w, req)
	})
}

// git runs the real git and returns what it said.
func git(t *testing.T, env []string, want int, args ...string) string {
	t.Helper()
	out, errs, code := run(t, env, append([]string{"git"}, args...)...)
	if code != want {
		t.Errorf("git %v: exit %d, want %d\n%s%s", args, code, want, out, errs)
	}
	return out + errs
}

// TestGit clones, commits 50 MB that does not compress, and pushes it in chunks.
func TestGit(t *testing.T) {
	url, env := gitRig(t, "GET,POST git.test:PORT")
	dir := filepath.Join(t.TempDir(), "app")
	git(t, env, 0, "clone", "-q", url, dir)
	writeRandom(t, filepath.Join(dir, "big"), 50<<20)
	git(t, env, 0, "-C", dir, "add", "big")
	git(t, env, 0, "-C", dir, "commit", "-q", "-m", "big")
	git(t, env, 0, "-C", dir, "push", "-q", "origin", "HEAD:refs/heads/main")
	again := filepath.Join(t.TempDir(), "again")
	git(t, env, 0, "clone", "-q", "-b", "main", url, again)
	if a, b := readFile(t, filepath.Join(dir, "big")), readFile(t, filepath.Join(again, "big")); a != b {
		t.Error("what came back is not what was pushed")
	}
}

// TestGitShowsTheReason holds that a refusal reaches the person who typed it.
func TestGitShowsTheReason(t *testing.T) {
	for _, tt := range []struct {
		name string
		rule string
		do   func(t *testing.T, url string, env []string) string
	}{
		{"clone", "GET git.test:PORT/other", func(t *testing.T, url string, env []string) string {
			return git(t, env, 128, "clone", url, filepath.Join(t.TempDir(), "app"))
		}},
		{"push", "GET git.test:PORT", func(t *testing.T, url string, env []string) string {
			dir := t.TempDir()
			git(t, env, 0, "init", "-q", dir)
			git(t, env, 0, "-C", dir, "commit", "-q", "--allow-empty", "-m", "x")
			return git(t, env, 128, "-C", dir, "push", url, "HEAD:refs/heads/main")
		}},
		{"big push", "GET git.test:PORT", func(t *testing.T, url string, env []string) string {
			dir := t.TempDir()
			git(t, env, 0, "init", "-q", dir)
			writeRandom(t, filepath.Join(dir, "big"), 8<<20)
			git(t, env, 0, "-C", dir, "add", "big")
			git(t, env, 0, "-C", dir, "commit", "-q", "-m", "x")
			return git(t, env, 128, "-C", dir, "push", url, "HEAD:refs/heads/main")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, env := gitRig(t, tt.rule)
			if said := tt.do(t, url, env); !strings.Contains(said, "no rule allows it") || !strings.Contains(said, "omnijailctl why ") {
				t.Errorf("git said:\n%s", said)
			}
		})
	}
}

func writeRandom(t *testing.T, path string, n int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadFrom(pattern(n)); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
