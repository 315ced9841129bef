package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestShow(t *testing.T) {
	doc, err := Preset("github-read")
	if err != nil {
		t.Fatal(err)
	}
	const want = `github-read (preset)
read GitHub with your login, fetch and clone over https

Files:
  the working directory, read-only

Network:
  allow GET,HEAD api.github.com/**
  allow GET github.com/**/info/refs (query service=git-upload-pack)
  allow POST github.com/**/git-upload-pack
  allow GET,HEAD codeload.github.com/**
  allow GET,HEAD raw.githubusercontent.com/**
  allow GET,HEAD objects.githubusercontent.com/**

Credentials, attached outside the jail:
  github for github.com, api.github.com, from $GH_TOKEN, else "gh auth token" run outside the jail (left out if there is none)
`
	got, _, _ := strings.Cut(Show(doc, "/home/alice/app"), "\nNotes:")
	if got != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestShowSaysWeakeningsFirst(t *testing.T) {
	doc := closed(t, "weaken: [ptrace]\nwrite_paths: [., /srv/x]\nmask_paths: [a]\negress_rules: [GET a.example.com, \"!* a.example.com/x\"]\nenv: {A: b}\nenv_passthrough: [EDITOR]\nlimits: {timeout: 90s}")
	text := Show(doc, "/")
	order := []string{"Gives safety away", "ptrace", "working directory, writable", "write srv/x", "hide a", "never * a.example.com/x", "allow GET a.example.com", `A="b"`, "EDITOR as you have it", "timeout 1m30s", "may set cwd, tty, timeout"}
	last := -1
	for _, word := range order {
		at := strings.Index(text, word)
		if at <= last {
			t.Fatalf("%q stands at %d, after %d, in:\n%s", word, at, last, text)
		}
		last = at
	}
}

// What a policy makes stricter than the default is said.
func TestShowSaysWhatIsStricter(t *testing.T) {
	text := Show(inline(t, "egress_rules: [GET a.example.com]\non_misuse: freeze\non_reflection: abort\non_minted: mask\nplaceholder_in_body: deny\ndeny_addresses: [203.0.113.0/24]"), "/")
	for _, want := range []string{
		"never an address in 203.0.113.0/24", "wrong place stops the jail's network", "in its body is refused",
		"holds a secret is refused or broken off", "replaced by asterisks",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}

// A policy without isolation is not described as if there were a jail.
func TestShowOfNoIsolation(t *testing.T) {
	text := Show(inline(t, "backend: none\nweaken: [no_isolation]"), "/")
	for _, want := range []string{"Files:\n  all that you may read and write yourself", "Network:\n  the node's, as you reach it yourself"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	for _, not := range []string{"read-only", "none\n"} {
		if strings.Contains(text, not) {
			t.Errorf("it says %q:\n%s", not, text)
		}
	}
}

func TestTestURL(t *testing.T) {
	doc := inline(t, "extends: [github-read]")
	for _, tt := range []struct {
		method, url string
		allowed     bool
		credential  string
	}{
		{"GET", "https://api.github.com/user", true, "github"},
		{"get", "https://api.github.com", true, "github"},
		{"POST", "https://api.github.com/user/repos", false, ""},
		{"GET", "http://api.github.com/user", false, ""},
		{"GET", "https://github.com/a/b.git/info/refs?service=git-upload-pack", true, "github"},
		{"GET", "https://github.com/a/b.git/info/refs?service=git-receive-pack", false, ""},
		{"GET", "https://codeload.github.com/a/b", true, ""},
		{"GET", "https://api.github.com:8443/user", false, ""},
	} {
		got, err := TestURL(doc, tt.method, tt.url)
		if err != nil || got.Allowed != tt.allowed || got.Credential != tt.credential || got.Text == "" {
			t.Errorf("%s %s: %+v, %v", tt.method, tt.url, got, err)
		}
	}
	const want = `allowed by "GET,HEAD api.github.com/**" (p.yaml:1)
credential "github" would be attached`
	if got, err := TestURL(doc, "GET", "https://api.github.com/user"); err != nil || got.Text != want {
		t.Errorf("got %s, %v", got.Text, err)
	}
	for _, bad := range []string{"ftp://a.example.com", "https://u:p@a.example.com", "https://1.2.3/", "https://a.example.com/../x", ":"} {
		if got, err := TestURL(doc, "GET", bad); err == nil {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}

func TestPropose(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".git/config"), "[remote \"fork\"]\n\turl = https://github.com/fork/app\n[remote \"origin\"]\n\turl = git@github.com:acme/app.git\n")
	write(t, filepath.Join(dir, "go.mod"), "module x")
	write(t, filepath.Join(dir, "package.json"), "{}")
	p, err := Propose(dir, "pypi")
	if err != nil {
		t.Fatal(err)
	}
	const want = `# What a command in this directory may do. In words: omnijailctl policy show .omnijail.yaml
extends: [workspace, npm, goproxy, github-read, pypi]
egress_rules:
  - "* api.github.com/repos/acme/app/**"
  - "!POST,PUT,PATCH api.github.com/repos/acme/app/hooks/**"
  - "!POST,PUT,PATCH api.github.com/repos/acme/app/keys/**"
  - "!POST,PUT,PATCH api.github.com/repos/acme/app/collaborators/**"
  - "!POST,PUT,PATCH api.github.com/repos/acme/app/actions/secrets/**"
  - "!POST,PUT,PATCH api.github.com/repos/acme/app/actions/runners/**"
  - "GET,POST github.com/acme/app.git/**"
  - "GET github.com/acme/app/info/refs"
  - "POST github.com/acme/app/git-receive-pack"
`
	if p.Text != want || len(p.Why) != 6 {
		t.Errorf("got %s\nwhy %q", p.Text, p.Why)
	}
	if _, err := Propose(dir, "github"); err == nil {
		t.Error("a preset that is not built is proposed")
	}
}

// A remote is written by whoever wrote the repository.
func TestS24_AHostileRemoteProposesNothing(t *testing.T) {
	for _, url := range []string{
		"https://github.com/a/b.git\"\n  - \"* evil.com/**", "https://github.com/a/../b", "https://github.com.evil.com/a/b",
		"https://evil.com/github.com/a/b", "https://github.com/a/**", "https://github.com/a/b c", "https://github.com/*/b",
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, ".git/config"), "[remote \"origin\"]\n\turl = "+url+"\n")
		p, err := Propose(dir)
		if err != nil || strings.Contains(p.Text, "evil") || strings.Contains(p.Text, "*\"") || strings.Contains(p.Text, "..") {
			t.Errorf("%q: %v\n%s", url, err, p.Text)
		}
	}
}

func TestEnvironment(t *testing.T) {
	doc := inline(t, "env: {A: policy, B: policy}\nenv_passthrough: [EDITOR]")
	req := request()
	req.Env = map[string]string{"B": "flag", "LD_PRELOAD": "/x.so"}
	spec, err := Compile(doc, req, facts())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, kv := range BuildEnv(spec.Env,
		map[string]string{"EDITOR": "vi", "TERM": "xterm", "AWS_SECRET_ACCESS_KEY": "hunter2", "BASH_ENV": "/x", "HOME": "/evil", "LANG": "a\x00b"},
		map[string]string{"OMNIJAIL": "1", "A": "ours"}) {
		got = append(got, string(kv))
	}
	want := []string{
		"A=ours", "B=flag", "EDITOR=vi", "HOME=/home/alice", "LD_PRELOAD=/x.so", "LOGNAME=alice", "OMNIJAIL=1",
		"PATH=" + defaultPath, "SHELL=/bin/sh", "TERM=xterm", "TMPDIR=/tmp", "USER=alice", "UV_LINK_MODE=copy",
		"pnpm_config_package_import_method=copy",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The variable that holds the secret, and the one that will hold its
// placeholder, cannot be carried in beside the proxy.
func TestSecretVariablesStayOutside(t *testing.T) {
	const creds = "\negress_rules: [GET a.example.com]\ncredential_proxy: [{type: https_bearer, target: a.example.com, env: TOKEN, source: {env: REAL}}]"
	for _, line := range []string{"env_passthrough: [REAL]", "env_passthrough: [TOKEN]", "env: {REAL: x}", "env: {TOKEN: x}"} {
		if _, err := Compile(inline(t, line+creds), request(), facts()); err == nil {
			t.Errorf("%s is accepted", line)
		}
	}
	req := request()
	req.Env = map[string]string{"REAL": "hunter2"}
	_, err := Compile(inline(t, creds), req, facts())
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("--env REAL: %v", err)
	}
}

func TestSourceKinds(t *testing.T) {
	doc := inline(t, "extends: [github-read]")
	spec, err := Compile(doc, request(), facts())
	if err != nil {
		t.Fatal(err)
	}
	kinds := SourceKinds(spec)
	if len(kinds) != 2 || kinds[0] != "command" || kinds[1] != "env" || SourceKinds(&jail.Spec{}) != nil {
		t.Errorf("kinds %v", kinds)
	}
	if got := doc.EnvSources(); !slices.Equal(got, []string{"GH_TOKEN"}) {
		t.Errorf("env sources %v", got)
	}
	if got := doc.CommandNames(); !slices.Contains(got, "GH_CONFIG_DIR") {
		t.Errorf("command names %v", got)
	}
}
