package mitm

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// run starts a real client with nothing but the given environment.
func run(t *testing.T, env []string, argv ...string) (stdout, stderr string, code int) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatalf("%s is needed for this test: %v", argv[0], err)
	}
	cmd := exec.CommandContext(t.Context(), path, argv[1:]...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "LC_ALL=C"}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestCurl carries a chunked upload and shows a refusal of one.
func TestCurl(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET,PUT api.test/ok"}, bindings: []creds.Binding{bearer("api.test")}})
	r.resolve(0)
	var got int64
	addr := r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		got, _ = io.Copy(io.Discard, req.Body)
		io.WriteString(w, req.Header.Get("Authorization"))
	}})
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, 50<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	curl := []string{"curl", "-sS", "--cacert", r.caFile(), "--connect-to", "api.test:443:" + addr}
	upload := append(curl, "-T", big, "-H", "Transfer-Encoding: chunked")

	if out, errs, code := run(t, nil, append(curl, "https://api.test/ok")...); code != 0 || out != "Bearer "+strings.Repeat("*", len(secretValue)) {
		t.Errorf("get: %d %q %q", code, out, errs)
	}
	if _, errs, code := run(t, nil, append(upload, "https://api.test/ok")...); code != 0 || got != 50<<20 {
		t.Errorf("upload: %d %d bytes %q", code, got, errs)
	}
	got = -1
	for _, expect := range []string{"Expect: 100-continue", "Expect:"} {
		out, errs, _ := run(t, nil, append(upload, "-H", expect, "https://api.test/no")...)
		if !strings.Contains(out, "no rule allows it") || got != -1 {
			t.Errorf("denied upload with %q: %q %q, upstream got %d", expect, out, errs, got)
		}
	}
	if _, errs, code := run(t, nil, "curl", "-sS", "--http2-prior-knowledge", "--cacert", r.caFile(),
		"--connect-to", "api.test:443:"+addr, "https://api.test/ok"); code != 0 {
		t.Logf("h2 by force: %q", errs)
	}
}

// TestSSHClientIsTold runs the real client and reads what it prints.
func TestSSHClientIsTold(t *testing.T) {
	for _, tt := range []struct {
		hosts []string
		want  string
	}{
		{nil, "ssh to git.test:22 is not carried; use https: git remote set-url origin https://git.test/OWNER/REPO"},
		{[]string{"git.test"}, "ssh to git.test:22 is not carried; this jail rewrites git@git.test: to https"},
	} {
		r := newRig(t, options{rules: []string{"GET git.test"}, config: func(c *Config) { c.GitHosts = tt.hosts }})
		host, port, _ := net.SplitHostPort(r.open("git.test:22"))
		_, errs, code := run(t, nil, "ssh", "-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes", "-p", port, "git@"+host, "x")
		if code == 0 || !strings.Contains(errs, tt.want) {
			t.Errorf("%d %q", code, errs)
		}
		r.audit.await(t, opened, func(e Event) bool { return e.Code == audit.CodeSSH })
	}
}

// TestGHShowsTheReason gives gh a socket that leads to the Proxy.
func TestGHShowsTheReason(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.github.com/user"}})
	addr := r.serve("api.github.com:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"login":"mona"}`)
	}})
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				up, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: r.jailRoots(), ServerName: "api.github.com"})
				if err != nil {
					return
				}
				defer up.Close()
				go func() { io.Copy(up, c); up.CloseWrite() }()
				io.Copy(c, up)
			}()
		}
	}()
	if err := os.WriteFile(filepath.Join(dir, "config.yml"), []byte("http_unix_socket: "+filepath.Join(dir, "s")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"GH_CONFIG_DIR=" + dir, "GH_TOKEN=x", "GH_NO_UPDATE_NOTIFIER=1"}
	if out, errs, code := run(t, env, "gh", "api", "user"); code != 0 || !strings.Contains(out, "mona") {
		t.Errorf("allowed: %d %q %q", code, out, errs)
	}
	_, errs, code := run(t, env, "gh", "api", "-X", "POST", "user/repos")
	if code == 0 || !strings.Contains(errs, "no rule allows it") || !strings.Contains(errs, "omnijailctl why ") {
		t.Errorf("denied: %d %q", code, errs)
	}
}
