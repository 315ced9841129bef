package e2e

import (
	"strings"
	"testing"
)

// installers leave in a home what the installers of toolchains do: links to
// versions, shims that look for one, proxies that go by their own name.
const installers = `set -e
uv=.local/share/uv/python
mkdir -p $uv/cpython-3.0.1-linux/bin .local/bin
cp "$(readlink -f /usr/bin/python3)" $uv/cpython-3.0.1-linux/bin/python3
ln -s cpython-3.0.1-linux $uv/cpython-3.0-linux
ln -s ~/$uv/cpython-3.0-linux/bin/python3 .local/bin/python3.0
$uv/cpython-3.0-linux/bin/python3 -m venv --without-pip project/.venv
printf '#!%s\nimport sys; print("script of", sys.prefix)\n' ~/project/.venv/bin/python >project/.venv/bin/tool

mkdir -p .nvm/versions/node/v20/bin .nvm/versions/node/v20/lib
cp /bin/echo .nvm/versions/node/v20/bin/node
echo '#!/usr/bin/env node' >.nvm/versions/node/v20/lib/npm.js
ln -s ../lib/npm.js .nvm/versions/node/v20/bin/npm

mkdir -p .pyenv/shims .pyenv/libexec .pyenv/versions/3.9/bin
echo 3.9 >.pyenv/version
cat >.pyenv/shims/ruff <<'.'
#!/usr/bin/env bash
exec "$HOME/.pyenv/libexec/pyenv" "$(basename "$0")" "$@"
.
cat >.pyenv/libexec/pyenv <<'.'
#!/usr/bin/env bash
exec "$HOME/.pyenv/versions/$(cat "$HOME/.pyenv/version")/bin/$@"
.
cp /bin/echo .pyenv/versions/3.9/bin/ruff

mkdir -p .cargo/bin .rustup/toolchains/stable/bin
echo stable >.rustup/default
printf '#!/bin/sh\nexec ~/.rustup/toolchains/$(cat ~/.rustup/default)/bin/${0##*/} "$@"\n' >.cargo/bin/rustup
echo token >.cargo/credentials.toml
ln -s rustup .cargo/bin/cargo
cp /bin/ls .rustup/toolchains/stable/bin/cargo

mkdir -p .local/share/mise/installs/jq/1.7/bin
cp /bin/echo .local/share/mise/installs/jq/1.7/bin/jq
ln -s 1.7 .local/share/mise/installs/jq/1

mkdir -p data/.kept/candidates/maven/3/bin
cp /bin/echo data/.kept/candidates/maven/3/bin/mvn
ln -s 3 data/.kept/candidates/maven/current
echo secret >data/.kept/secret
ln -s ~/data/.kept .sdkman

mkdir -p .config/omnijail/policies
echo "backend: linux_landlock" >.config/omnijail/policies/alone.yaml

mkdir -p go/bin sdk/go1.0/bin
printf '#!/bin/sh\nexec ~/sdk/${0##*/}/bin/go "$@"\n' >go/bin/go1.0
cp /bin/echo sdk/go1.0/bin/go
chmod +x project/.venv/bin/tool .pyenv/shims/ruff .pyenv/libexec/pyenv .nvm/versions/node/v20/lib/npm.js .cargo/bin/rustup go/bin/go1.0
`

// TestS20_ToolchainsOfAHome runs a program of each toolchain in a jail, as its
// owner has it in PATH.
func TestS20_ToolchainsOfAHome(t *testing.T) {
	m := installed(t)
	m.Run(t, "systemctl", "restart", "omnijaild").Want(t, 0)
	m.addPerson(t, "alice")
	m.Types(t, "alice", installers).Want(t, 0)
	m.Run(t, "sh", "-c", "mkdir -p /opt/vendor/bin && cp /bin/echo /opt/vendor/bin/vendor && ln -s /opt/vendor/bin/vendor /usr/local/bin/vendor").Want(t, 0)

	const path = "PATH=~/.nvm/versions/node/v20/bin:~/.pyenv/shims:~/.cargo/bin:~/.local/share/mise/installs/jq/1/bin:~/.sdkman/candidates/maven/current/bin:~/go/bin:~/.local/bin:$PATH; export PATH; cd project; "
	for command, want := range map[string]string{
		"omnijailctl exec -- .venv/bin/python -c 'import sys; print(sys.prefix)'":      "/home/alice/project/.venv",
		"omnijailctl exec -- .venv/bin/tool":                                           "script of /home/alice/project/.venv",
		"omnijailctl exec -- python3.0 -c 'print(3)'":                                  "3",
		"omnijailctl exec -- npm ok":                                                   "/home/alice/.nvm/versions/node/v20/bin/npm ok",
		"omnijailctl exec -- ruff ok":                                                  "ok",
		"omnijailctl exec -- cargo -A ~/.cargo":                                        "bin",
		"omnijailctl exec -- jq ok":                                                    "ok",
		"omnijailctl exec -- mvn ok":                                                   "ok",
		"omnijailctl exec --read ~/data -- mvn ok":                                     "ok",
		"omnijailctl exec --policy alone --read ~/data -- mvn ok":                      "ok",
		"omnijailctl exec -- go1.0 ok":                                                 "ok",
		"omnijailctl exec -- vendor ok":                                                "ok",
		"omnijailctl exec --write . --read ~/.local/share/uv/python -- .venv/bin/tool": "script of /home/alice/project/.venv",
	} {
		o := m.Types(t, "alice", path+command)
		if o.Exit != 0 || strings.TrimSpace(o.Stdout) != want {
			t.Errorf("%s: exit %d, %q, want %q\n%s", command, o.Exit, o.Stdout, want, o.Stderr)
		}
		if !strings.Contains(o.Stderr, "shown for the command, read-only: ") && !strings.Contains(command, "uv/python") {
			t.Errorf("%s does not say what it shows:\n%s", command, o.Stderr)
		}
	}
	// What lies beside a toolchain above a mask stays hidden.
	o := m.Types(t, "alice", path+"omnijailctl exec --read ~/data -- sh -c 'ls -A ~/data ~/data/.kept; cat ~/data/.kept/secret'")
	if want := "/home/alice/data:\n.kept\n\n/home/alice/data/.kept:\n"; o.Stdout != want {
		t.Errorf("shown %q, want %q", o.Stdout, want)
	}
	o = m.Types(t, "alice", path+"omnijailctl exec --write . -- .venv/bin/tool")
	if o.Exit != 126 || !strings.Contains(o.Stderr, "hint: read_paths: [/home/alice/.local/share/uv/python]") {
		t.Errorf("an environment that the jail may write: exit %d\n%s", o.Exit, o.Stderr)
	}
}

// nixRoot makes a store, a profile and a system as Nix has them: everything is a link
// into the store, scripts name their interpreter there.
const nixRoot = `set -e
cd /; mkdir -p nix/store/aaa-say/bin nix/store/bbb-sh/bin nix/store/ccc-env/sw nix/var/nix/profiles
cp /bin/echo nix/store/aaa-say/bin/say
cp /bin/sh nix/store/bbb-sh/bin/sh
ln -s /nix/store/aaa-say/bin nix/store/ccc-env/bin
ln -s /nix/store/aaa-say/bin nix/store/ccc-env/sw/bin
printf '#!/nix/store/bbb-sh/bin/sh\nexec say script "$@"\n' >nix/store/aaa-say/bin/tool
chmod +x nix/store/aaa-say/bin/tool
ln -s /nix/store/ccc-env nix/var/nix/profiles/alice
ln -s /nix/var/nix/profiles/alice /home/alice/.nix-profile
ln -s /nix/store/ccc-env /run/current-system
ln -s /nix/store/aaa-say/bin/say /usr/local/bin/farm
systemctl restart omnijaild
`

// Where a node has a store of Nix's, programs from it run, by whatever links they are
// found. A store that is a user's own is no part of the node.
func TestAStoreOfNixIsShown(t *testing.T) {
	m := installed(t)
	m.addPerson(t, "alice")
	m.Run(t, "sh", "-c", nixRoot).Want(t, 0)
	const path = "cd project; PATH=~/.nix-profile/bin:/run/current-system/sw/bin:$PATH; export PATH; "
	for command, want := range map[string]string{
		"omnijailctl exec -- say ok":  "ok",
		"omnijailctl exec -- farm ok": "ok",
		"omnijailctl exec -- tool ok": "script ok",
		"omnijailctl exec --write . -- sh -c 'say ok; touch /nix/store/x || true'": "ok",
		"omnijailctl exec -- sh -c 'ls /nix /run; readlink /run/current-system'":   "store\n/run:\ncurrent-system\nomnijail\n/nix/store/ccc-env",
	} {
		if o := m.Types(t, "alice", path+command); o.Exit != 0 || strings.TrimSpace(strings.ReplaceAll(o.Stdout, "/nix:\n", "")) != strings.ReplaceAll(want, "store\n/run", "store\n\n/run") {
			t.Errorf("%s: exit %d, %q, want %q\n%s", command, o.Exit, o.Stdout, want, o.Stderr)
		}
	}
	m.Run(t, "sh", "-c", "test ! -e /nix/store/x && chown alice /nix/store && systemctl restart omnijaild").Want(t, 0)
	if o := m.Types(t, "alice", path+"omnijailctl exec -- say ok"); o.Exit != 126 || !strings.Contains(o.Stderr, "read_paths: [/nix/store/aaa-say") {
		t.Errorf("a store of the user's own: exit %d, %s%s", o.Exit, o.Stdout, o.Stderr)
	}
}
