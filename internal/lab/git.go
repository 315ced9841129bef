package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// git serves the smart protocol through git's own server program. A push needs
// the token as Basic password, and so does a repository whose name begins with
// "private".
func (u *Upstream) git(w http.ResponseWriter, r *http.Request) {
	push := r.URL.Query().Get("service") == "git-receive-pack" || strings.HasSuffix(r.URL.Path, "/git-receive-pack")
	_, _, basic := r.BasicAuth()
	allowed := basic && u.authorized(r)
	if (push || strings.HasPrefix(r.PathValue("repo"), "private")) && !allowed {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "authentication required", http.StatusUnauthorized)
		return
	}
	backend, err := gitBackend()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	done, err := spool(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer done()
	env := append(gitEnv(u.dir), "GIT_PROJECT_ROOT="+u.dir, "GIT_HTTP_EXPORT_ALL=1")
	if allowed {
		env = append(env, "REMOTE_USER="+u.opt.Login)
	}
	(&cgi.Handler{Path: backend, Env: env, Stderr: io.Discard}).ServeHTTP(w, r)
}

// spool gives a chunked body the length that CGI wants.
func spool(r *http.Request) (done func(), err error) {
	if r.ContentLength >= 0 {
		return func() {}, nil
	}
	f, err := os.CreateTemp("", "lab-body-")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	if r.ContentLength, err = io.Copy(f, r.Body); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	r.Body, r.TransferEncoding = f, nil
	return func() { f.Close() }, nil
}

func gitBackend() (string, error) {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return "", fmt.Errorf("git: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), nil
}

func gitEnv(home string) []string {
	return []string{"PATH=" + defaultPath, "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Lab", "GIT_AUTHOR_EMAIL=lab@example.test",
		"GIT_COMMITTER_NAME=Lab", "GIT_COMMITTER_EMAIL=lab@example.test"}
}

var repoName = regexp.MustCompile(`^[a-z0-9-]+/[a-z0-9-]+$`)

// AddRepo makes a bare repository "owner/name" with one commit on main, served
// as /owner/name.git, and returns its directory.
func (u *Upstream) AddRepo(ctx context.Context, name string) (dir string, err error) {
	if !repoName.MatchString(name) {
		return "", fmt.Errorf("lab repository %q is not owner/name", name)
	}
	work, err := os.MkdirTemp(u.dir, "work-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "README.md"), []byte("# "+name+"\n"), 0o644); err != nil {
		return "", err
	}
	dir = filepath.Join(u.dir, name+".git")
	git := Client{Dir: work, Env: gitEnv(u.dir)}
	for _, argv := range [][]string{
		{"git", "init", "-q", "-b", "main"},
		{"git", "add", "."},
		{"git", "commit", "-q", "-m", "first"},
		{"git", "clone", "-q", "--bare", ".", dir},
	} {
		out, err := git.Run(ctx, argv...)
		if err == nil && out.Exit != 0 {
			err = errors.New(out.Stderr)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
		}
	}
	return dir, nil
}
