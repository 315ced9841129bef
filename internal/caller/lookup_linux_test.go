package caller

import (
	"errors"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestTheExecutableIsFoundAsAShellWould(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	write(t, w, "bin/tool", 0o755, "#!/bin/sh\n")
	write(t, w, "bin/plain", 0o644, "x")
	write(t, w, "bin2/plain", 0o755, "x")
	write(t, w, ".cache/tool", 0o755, "x")
	mkdir(t, w, "bin/directory")
	symlink(t, "tool", w+"/bin/link")
	symlink(t, w+"/bin/loop", w+"/bin/loop")
	path := w + "/absent:" + w + "/bin:" + w + "/bin2:/usr/bin"
	for _, tt := range []struct {
		argv0, path string
		exec        string // found
		code        string // or refused
		exit        int
	}{
		{"tool", path, w + "/bin/tool", "", 0},
		{"link", path, w + "/bin/link", "", 0},
		{"plain", path, w + "/bin2/plain", "", 0},
		{"sh", "/bin", "/usr/bin/sh", "", 0},
		{"./bin/tool", path, w + "/bin/tool", "", 0},
		{"bin/../bin/tool", path, w + "/bin/tool", "", 0},
		{w + "/bin/tool", "", w + "/bin/tool", "", 0},
		{"tool", "bin", w + "/bin/tool", "", 0}, // a relative directory in PATH is below cwd
		{"plain", w + "/bin", "", "not_executable", 126},
		{"directory", path, "", "not_found", 127}, // as if it were not there
		{"./bin", path, "", "not_executable", 126},
		{"./bin/plain", path, "", "not_executable", 126},
		{"./bin/loop", path, "", "not_executable", 126},
		{"nothing", path, "", "not_found", 127},
		{"./nothing", path, "", "not_found", 127},
		{"tool/x", path, "", "not_found", 127},
		{"", path, "", "not_found", 127},
		{"./.cache/tool", path, "", "not_visible", 126},
		{"bin/caf\xe9", path, "", "not_found", 127},
	} {
		r := request(dir)
		r.Argv0, r.Path = []byte(tt.argv0), tt.path
		o, err := open(t, Options{Request: r})
		if tt.code == "" {
			if err != nil || o.Reply.Exec != tt.exec {
				t.Errorf("%q in %q: %v, want %s", tt.argv0, tt.path, err, tt.exec)
			}
			continue
		}
		refused(t, err, tt.code)
		if e, ok := errors.AsType[*jail.OpenError](err); ok && e.Exit != tt.exit {
			t.Errorf("%q: exit code %d, want %d", tt.argv0, e.Exit, tt.exit)
		}
	}
}

// No link that a jail could have planted makes anything outside visible.
func TestS20_ALinkOutOfTheGrantIsRefusedByName(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	secret := write(t, dir, "clients/acme/bin/deploy", 0o755, "#!/bin/sh\n")
	write(t, dir, "clients/acme/bin/python3", 0o755, "x")
	mkdir(t, w, "d")
	mkdir(t, w, ".venv/bin")
	for name, plant := range map[string]string{
		"run":              secret,
		"rel":              "../clients/acme/bin/deploy",
		"d/dots":           "../../clients/acme/bin/deploy",
		".venv/bin/python": dir + "/clients/acme/bin/python3",
		"dir":              dir + "/clients/acme/bin",
		"twice":            "run",
	} {
		symlink(t, plant, w+"/"+name)
	}
	for _, argv0 := range []string{"./run", "./rel", "d/dots", ".venv/bin/python", "dir/deploy", "./twice"} {
		r := request(dir)
		r.View.Visible = []string{".venv"}
		r.Argv0 = []byte(argv0)
		_, err := open(t, Options{Request: r})
		refused(t, err, "not_visible", "outside of what the jail sees", "read_paths: ["+dir+"/clients/acme/bin/")
	}
	r := request(dir)
	r.Argv0 = []byte("./run")
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/clients"})
	if o := mustOpen(t, r); o.Reply.Exec != w+"/run" {
		t.Errorf("with the grant: exec %q", o.Reply.Exec)
	}
}

func TestGitIdentityOfTheCaller(t *testing.T) {
	dir := playground(t)
	write(t, dir, "home/.gitconfig", 0o600, `
[user]
	name = Ada "the first" Lovelace
	email = ada@example.com
[core]
	fsmonitor = /tmp/evil
	autocrlf = input
[alias]
	x = !sh
[include]
	path = more
[color "branch"]
	current = "red bold"
`)
	write(t, dir, "home/more", 0o600, "[init]\n defaultBranch=main\n[user]\n name = Ada\n")
	write(t, dir, "home/.config/git/config", 0o600, "[pull]\nrebase\n[user]\nemail=old@example.com\n")
	r := request(dir)
	r.GitConfig = true
	got := map[string]string{}
	for _, s := range mustOpen(t, r).Reply.Git {
		got[s.Key] = s.Value
	}
	want := map[string]string{
		"user.name": "Ada", "user.email": "ada@example.com", "core.autocrlf": "input",
		"init.defaultBranch": "main", "pull.rebase": "true", "color.branch.current": "red bold",
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s = %q, want %q", k, got[k], v)
		}
	}
}
