package caller

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

// layout is how an installer leaves its programs: files by name, the executable
// ones a script each, and links.
type layout struct {
	files map[string]string
	links map[string]string
}

func (l layout) make(t *testing.T, dir string) {
	t.Helper()
	for name, text := range l.files {
		write(t, dir, name, 0o755, strings.ReplaceAll(text, "HOME", dir))
	}
	for name, target := range l.links {
		mkdir(t, dir, filepath.Dir(name))
		symlink(t, strings.ReplaceAll(target, "HOME", dir), filepath.Join(dir, name))
	}
}

const (
	bash = "#!/usr/bin/env bash\n"
	elf  = "\x7fELF"
)

// TestS20_ToolchainsAreShown walks the layouts of the installers: what runs, what
// is shown for it, and nothing else.
func TestS20_ToolchainsAreShown(t *testing.T) {
	for name, tt := range map[string]struct {
		layout
		path  string // of the caller, HOME for its home
		argv0 string
		exec  string // below HOME
		shown []string
	}{
		"pyenv version": {
			layout{map[string]string{".pyenv/versions/3.12.1/bin/python3.12": elf, ".pyenv/versions/3.11.0/bin/python3.11": elf},
				map[string]string{".pyenv/versions/3.12.1/bin/python": "python3.12"}},
			"HOME/.pyenv/versions/3.12.1/bin", "python", ".pyenv/versions/3.12.1/bin/python", []string{".pyenv/versions/3.12.1"}},
		"pyenv shim": {
			layout{map[string]string{".pyenv/shims/python": bash, ".pyenv/libexec/pyenv": bash}, nil},
			"HOME/.pyenv/shims", "python", ".pyenv/shims/python", []string{".pyenv"}},
		"pyenv virtualenv": {
			layout{map[string]string{".pyenv/versions/3.12.1/bin/python3": elf, ".pyenv/versions/3.12.1/envs/e/pyvenv.cfg": ""},
				map[string]string{".pyenv/versions/e": "HOME/.pyenv/versions/3.12.1/envs/e", ".pyenv/versions/3.12.1/envs/e/bin/python": "HOME/.pyenv/versions/3.12.1/bin/python3"}},
			"HOME/.pyenv/versions/e/bin", "python", ".pyenv/versions/3.12.1/envs/e/bin/python", []string{".pyenv/versions/3.12.1"}},
		"nvm": {
			layout{map[string]string{".nvm/versions/node/v20.1.0/bin/node": elf, ".nvm/versions/node/v18.0.0/bin/node": elf,
				".nvm/versions/node/v20.1.0/lib/node_modules/npm/bin/npm-cli.js": "#!/usr/bin/env node\n"},
				map[string]string{".nvm/versions/node/v20.1.0/bin/npm": "../lib/node_modules/npm/bin/npm-cli.js"}},
			"HOME/.nvm/versions/node/v20.1.0/bin", "npm", ".nvm/versions/node/v20.1.0/bin/npm", []string{".nvm/versions/node/v20.1.0"}},
		"uv python": {
			layout{map[string]string{".local/share/uv/python/cpython-3.12.5-linux/bin/python3.12": elf, ".local/bin/other": elf},
				map[string]string{".local/share/uv/python/cpython-3.12-linux": "cpython-3.12.5-linux",
					".local/bin/python3.12": "HOME/.local/share/uv/python/cpython-3.12-linux/bin/python3.12"}},
			"HOME/.local/bin", "python3.12", ".local/share/uv/python/cpython-3.12.5-linux/bin/python3.12", []string{".local/share/uv/python"}},
		"uv tool": {
			layout{map[string]string{".local/share/uv/python/cpython-3.12-linux/bin/python3.12": elf, ".local/share/uv/tools/black/pyvenv.cfg": "",
				".local/share/uv/tools/black/bin/black": "#!HOME/.local/share/uv/tools/black/bin/python\n", ".local/share/uv/tools/private/x": ""},
				map[string]string{".local/bin/black": "HOME/.local/share/uv/tools/black/bin/black",
					".local/share/uv/tools/black/bin/python": "HOME/.local/share/uv/python/cpython-3.12-linux/bin/python3.12"}},
			"HOME/.local/bin", "black", ".local/share/uv/tools/black/bin/black", []string{".local/share/uv/tools/black", ".local/share/uv/python"}},
		"an environment with a copy of the interpreter": {
			layout{map[string]string{".local/share/uv/python/cpython-3.12-linux/bin/python3.12": elf,
				".local/share/uv/tools/black/pyvenv.cfg": "version = 3.12\nHome = HOME/.local/share/uv/python/cpython-3.12-linux/bin\nhome = /elsewhere\n",
				".local/share/uv/tools/black/bin/black":  "#!HOME/.local/share/uv/tools/black/bin/python\n", ".local/share/uv/tools/black/bin/python": elf}, nil},
			"HOME/.local/share/uv/tools/black/bin", "black", ".local/share/uv/tools/black/bin/black", []string{".local/share/uv/tools/black", ".local/share/uv/python"}},
		"uv itself": {
			layout{map[string]string{".local/bin/uv": elf, ".local/share/uv/python/x": ""}, nil},
			"HOME/.local/bin", "uv", ".local/bin/uv", []string{".local/bin/uv", ".local/share/uv/python"}},
		"asdf": {
			layout{map[string]string{".asdf/installs/ruby/3.3.0/bin/ruby": elf, ".asdf/installs/erlang/x": ""}, nil},
			"HOME/.asdf/installs/ruby/3.3.0/bin", "ruby", ".asdf/installs/ruby/3.3.0/bin/ruby", []string{".asdf/installs/ruby"}},
		"asdf shim": {
			layout{map[string]string{".asdf/shims/ruby": bash, ".asdf/bin/asdf": elf, ".tool-versions": "ruby 3.3.0\n"}, nil},
			"HOME/.asdf/shims", "ruby", ".asdf/shims/ruby", []string{".asdf", ".tool-versions"}},
		"mise by a short version": {
			layout{map[string]string{".local/share/mise/installs/node/20.1.0/bin/node": elf, ".local/share/mise/installs/go/x": ""},
				map[string]string{".local/share/mise/installs/node/20": "./20.1.0"}},
			"HOME/.local/share/mise/installs/node/20/bin", "node", ".local/share/mise/installs/node/20.1.0/bin/node", []string{".local/share/mise/installs/node"}},
		"mise shim": {
			layout{map[string]string{".local/bin/mise": elf}, map[string]string{".local/share/mise/shims/node": "HOME/.local/bin/mise"}},
			"HOME/.local/share/mise/shims", "node", ".local/share/mise/shims/node", []string{".local/bin/mise", ".local/share/mise"}},
		"rustup": {
			layout{map[string]string{".cargo/bin/rustup": elf, ".cargo/credentials.toml": "token", ".rustup/toolchains/stable/bin/cargo": elf},
				map[string]string{".cargo/bin/cargo": "rustup"}},
			"HOME/.cargo/bin", "cargo", ".cargo/bin/cargo", []string{".cargo/bin", ".rustup"}},
		"rustup toolchain": {
			layout{map[string]string{".rustup/toolchains/stable/bin/rustc": elf}, nil},
			"HOME/.rustup/toolchains/stable/bin", "rustc", ".rustup/toolchains/stable/bin/rustc", []string{".rustup/toolchains/stable"}},
		"sdkman": {
			layout{map[string]string{".sdkman/candidates/java/21-tem/bin/java": elf, ".sdkman/candidates/maven/x": ""},
				map[string]string{".sdkman/candidates/java/current": "21-tem"}},
			"HOME/.sdkman/candidates/java/current/bin", "java", ".sdkman/candidates/java/21-tem/bin/java", []string{".sdkman/candidates/java"}},
		"go": {
			layout{map[string]string{"go/bin/go1.22": elf, "go/src/private": "", "sdk/go1.22/bin/go": elf, "sdk/go1.21/bin/go": elf}, nil},
			"HOME/go/bin", "go1.22", "go/bin/go1.22", []string{"go/bin", "sdk/go1.22"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := playground(t)
			home := dir + "/home"
			tt.make(t, home)
			r := request(dir)
			r.View.Grants[0].Write = false
			r.Argv0, r.Path = []byte(tt.argv0), strings.ReplaceAll(tt.path, "HOME", home)+":/usr/bin"
			o := mustOpen(t, r)
			if want := filepath.Join(home, tt.exec); o.Reply.Exec != want {
				t.Errorf("executes %s, want %s", o.Reply.Exec, want)
			}
			wantShown(t, o, home, tt.shown)
		})
	}
}

// wantShown wants exactly these grants beside the working directory, read-only.
func wantShown(t *testing.T, o *Opened, home string, shown []string) {
	t.Helper()
	var want, got []string
	for _, s := range shown {
		want = append(want, filepath.Join(home, s))
	}
	for _, g := range o.Reply.Grants {
		if slices.Contains(o.Reply.Exposed, g.Path) {
			got = append(got, g.Path)
			if g.Write {
				t.Errorf("%s is writable", g.Path)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(o.Reply.Exposed) != len(want) {
		t.Errorf("shown %v (said: %v), want %v", got, o.Reply.Exposed, want)
	}
}

// nodeByNvm is a script in the workspace, and its interpreter by nvm.
var nodeByNvm = layout{files: map[string]string{
	"home/.nvm/versions/node/v20/bin/node": elf, "w/node_modules/tsc/tsc.js": "#!/usr/bin/env -S FORCE=1 node --flag\n",
}, links: map[string]string{"w/node_modules/.bin/tsc": "../tsc/tsc.js"}}

func TestS20_InterpretersByNameAreFoundInPath(t *testing.T) {
	dir := playground(t)
	nodeByNvm.make(t, dir)
	write(t, dir, "home/bin/only", 0o755, elf)
	write(t, dir, "w/only", 0o755, "#!/usr/bin/env only\n")
	write(t, dir, "w/nowhere", 0o755, "#!/usr/bin/env nowhere-at-all\n")
	r := request(dir)
	r.Argv0 = []byte("./node_modules/.bin/tsc")
	r.Path = dir + "/home/bin:" + dir + "/home/.nvm/versions/node/v20/bin:/usr/bin"
	o := mustOpen(t, r)
	wantShown(t, o, dir+"/home", []string{".nvm/versions/node/v20"})
	if want := dir + "/w/node_modules/.bin/tsc"; o.Reply.Exec != want {
		t.Errorf("executes %s, want %s", o.Reply.Exec, want)
	}
	r.Argv0 = []byte("./only")
	_, err := open(t, Options{Request: r})
	refused(t, err, "not_visible", "read_paths: ["+dir+"/home/bin/only]")
	r.Argv0 = []byte("./nowhere")
	wantShown(t, mustOpen(t, r), dir, nil) // env says it better
}

// A link that a jail could have laid exposes nothing, not even a toolchain.
func TestS20_PlantedChainsAreRefused(t *testing.T) {
	for name, plant := range map[string]layout{
		"a link to a program":           {links: map[string]string{"w/run": "HOME/home/.pyenv/versions/3.12/bin/python"}},
		"a link to a directory":         {links: map[string]string{"w/d": "HOME/home/.pyenv/versions/3.12/bin", "w/run": "d/python"}},
		"a virtual environment":         {links: map[string]string{"w/run": ".venv/bin/python", "w/.venv/bin/python": "HOME/home/.pyenv/versions/3.12/bin/python"}},
		"an interpreter by its path":    {files: map[string]string{"w/run": "#!HOME/home/.pyenv/versions/3.12/bin/python\n"}},
		"an interpreter by a link":      {files: map[string]string{"w/run": "#!HOME/w/sh\n"}, links: map[string]string{"w/sh": "HOME/home/.pyenv/versions/3.12/bin/python"}},
		"out and back":                  {links: map[string]string{"w/run": "HOME/home/back/python", "home/back": "../w/b", "w/b": "HOME/home/.pyenv/versions/3.12/bin"}},
		"a path for env":                {files: map[string]string{"w/run": "#!/usr/bin/env HOME/home/.pyenv/versions/3.12/bin/python\n"}},
		"an interpreter of interpreter": {files: map[string]string{"w/run": "#!HOME/w/sh\n", "w/sh": "#!HOME/home/.pyenv/versions/3.12/bin/python\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := playground(t)
			layout{files: map[string]string{"home/.pyenv/versions/3.12/bin/python": elf}}.make(t, dir)
			plant.make(t, dir)
			r := request(dir)
			r.View.Visible = []string{".venv"}
			r.Argv0 = []byte("./run")
			_, err := open(t, Options{Request: r})
			refused(t, err, "not_visible", "outside of what the jail sees", "read_paths: ["+dir+"/home/")
			r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/home/.pyenv/versions/3.12"}, jail.Grant{Path: dir + "/home/back", Missing: true})
			if name == "out and back" {
				return // leads out of one grant and into another
			}
			wantShown(t, mustOpen(t, r), dir, nil)
		})
	}
}

// A program found in a directory of PATH that the jail may write is planted too,
// whatever else the directory is called.
func TestS20_WritableDirectoriesOfPath(t *testing.T) {
	dir := playground(t)
	layout{
		files: map[string]string{"home/.pyenv/versions/3.12/bin/python": elf},
		links: map[string]string{"w/bin/python": "HOME/home/.pyenv/versions/3.12/bin/python", "home/tools": "HOME/w/bin"},
	}.make(t, dir)
	r := request(dir)
	r.Argv0 = []byte("python")
	for _, path := range []string{dir + "/w/bin", dir + "/home/tools", "bin"} {
		r.Path = path
		_, err := open(t, Options{Request: r})
		refused(t, err, "not_visible", "read_paths: ["+dir+"/home/.pyenv/versions/3.12]", "leads through "+dir+"/w")
	}
	r.View.Grants[0].Write = false
	for _, path := range []string{dir + "/w/bin", dir + "/home/tools", "bin"} {
		r.Path = path
		wantShown(t, mustOpen(t, r), dir+"/home", []string{".pyenv/versions/3.12"})
	}
}

// What a jail makes of a toolchain's place is no place of a toolchain.
func TestS20_APlantedToolchain(t *testing.T) {
	dir := playground(t)
	layout{
		files: map[string]string{"home/clients/acme/bin/deploy": elf, "home/clients/acme/secret": ""},
		links: map[string]string{"home/.local/share/uv/python": "HOME/home/clients/acme", "home/.nvm": "HOME/w/nvm", "w/nvm/versions/node": "HOME/home/clients"},
	}.make(t, dir)
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/home/.local/share", Write: true})
	r.Argv0, r.Path = []byte("deploy"), dir+"/home/clients/acme/bin"
	_, err := open(t, Options{Request: r})
	refused(t, err, "not_visible", "read_paths: ["+dir+"/home/clients/acme/bin/deploy]")
}

func TestS20_AVirtualEnvironmentOfAToolchain(t *testing.T) {
	dir := playground(t)
	layout{
		files: map[string]string{"home/.local/share/uv/python/cpython-3.12.5/bin/python3.12": elf, "w/.venv/pyvenv.cfg": "", "home/venvs/e/pyvenv.cfg": "",
			"w/.venv/bin/pytest": "#!HOME/w/.venv/bin/python3\n"},
		links: map[string]string{"home/.local/share/uv/python/cpython-3.12": "cpython-3.12.5",
			"w/.venv/bin/python":        "HOME/home/.local/share/uv/python/cpython-3.12/bin/python3.12",
			"w/.venv/bin/python3":       "python",
			"home/venvs/e/bin/python":   "HOME/home/.local/share/uv/python/cpython-3.12/bin/python3.12",
			"home/.local/bin/python3.9": "HOME/home/.local/share/uv/python/gone/bin/python3.9"},
	}.make(t, dir)
	r := request(dir)
	r.View.Visible = []string{".venv"}
	for _, argv0 := range []string{".venv/bin/python3", ".venv/bin/pytest"} {
		r.Argv0 = []byte(argv0)
		r.View.Grants[0].Write = false
		o := mustOpen(t, r)
		wantShown(t, o, dir+"/home", []string{".local/share/uv/python"})
		if want := dir + "/w/" + argv0; o.Reply.Exec != want {
			t.Errorf("executes %s, want %s: an environment is found by its name", o.Reply.Exec, want)
		}
		r.View.Grants[0].Write = true
		_, err := open(t, Options{Request: r})
		refused(t, err, "not_visible", "read_paths: ["+dir+"/home/.local/share/uv/python]")
	}
	// One that is not shown is not passed over for what it stands on.
	r.Argv0, r.Path = []byte("python"), dir+"/home/venvs/e/bin"
	_, err := open(t, Options{Request: r})
	refused(t, err, "not_visible", "read_paths: ["+dir+"/home/venvs/e]")
}

// What pyvenv.cfg says is followed where no jail has written it.
func TestS20_APlantedHomeOfPython(t *testing.T) {
	dir := playground(t)
	layout{files: map[string]string{
		"home/.pyenv/versions/3.12/bin/python3.12": elf, "home/clients/acme/bin/x": "", "w/.venv/bin/python": elf, "w/.venv/bin/ruff": elf,
	}}.make(t, dir)
	r := request(dir)
	r.View.Visible = []string{".venv"}
	for home, show := range map[string]string{"/home/.pyenv/versions/3.12/bin": "/home/.pyenv/versions/3.12", "/home/clients/acme/bin": "/home/clients/acme"} {
		write(t, dir, "w/.venv/pyvenv.cfg", 0o644, "home = "+dir+home+"\n")
		r.View.Grants[0].Write = true
		r.Argv0 = []byte(".venv/bin/python")
		_, err := open(t, Options{Request: r})
		refused(t, err, "not_visible", "outside of what the jail sees", "read_paths: ["+dir+show+"]")
		r.Argv0 = []byte(".venv/bin/ruff") // needs no Python
		wantShown(t, mustOpen(t, r), dir+"/home", nil)
	}
	r.View.Grants[0].Write = false
	r.Argv0 = []byte(".venv/bin/python")
	write(t, dir, "w/.venv/pyvenv.cfg", 0o644, "home = "+dir+"/home/clients/acme/bin\n") // no toolchain's place
	_, err := open(t, Options{Request: r})
	refused(t, err, "not_visible", "read_paths: ["+dir+"/home/clients/acme]")
	write(t, dir, "w/.venv/pyvenv.cfg", 0o644, "home = "+dir+"/home/.pyenv/versions/3.12/bin\n")
	wantShown(t, mustOpen(t, r), dir+"/home", []string{".pyenv/versions/3.12"})
	for _, text := range []string{"home = /nowhere/bin\n", "home = bin\n", "home\n", "home = /usr/bin\n"} {
		write(t, dir, "w/.venv/pyvenv.cfg", 0o644, text)
		wantShown(t, mustOpen(t, r), dir+"/home", nil)
	}
}

func TestS20_AboveAMaskAndNotInAWritableTree(t *testing.T) {
	dir := playground(t)
	layout{
		files: map[string]string{"data/.tools/versions/node/v20/bin/node": elf, "data/.tools/secret": "", "home/.config/omnijail/x": ""},
		links: map[string]string{"home/.nvm": "HOME/data/.tools"},
	}.make(t, dir)
	r := request(dir)
	r.Argv0, r.Path = []byte("node"), dir+"/home/.nvm/versions/node/v20/bin"
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/data"})
	o := mustOpen(t, r)
	wantShown(t, o, dir+"/data", []string{".tools/versions/node/v20"})
	for _, g := range o.Reply.Grants {
		if g.Path == dir+"/data" && !slices.Contains(names(g.Masked), ".tools") {
			t.Errorf("the mask around it is gone: %v", g.Masked)
		}
	}
	r.View.Grants[1].Write = true
	_, err := open(t, Options{Request: r})
	refused(t, err, "not_visible", "hidden in the jail", "leads through "+dir+"/data")
	// What the policy hides inside of a toolchain stays hidden.
	r.View.Grants = r.View.Grants[:1]
	write(t, dir, "data/.tools/versions/node/v20/etc/key", 0o600, "")
	r.View.Masks = []jail.Mask{{Path: dir + "/home/.nvm/versions/node/v20/etc"}}
	for _, g := range mustOpen(t, r).Reply.Grants {
		if strings.HasSuffix(g.Path, "/v20") && !slices.Equal(names(g.Masked), []string{"etc"}) {
			t.Errorf("hidden in %s: %v", g.Path, g.Masked)
		}
	}
	// Omnijail's own is never shown.
	r.View.Masks = []jail.Mask{{Path: dir + "/data/.tools/versions/node/v20/etc", Own: true}}
	_, err = open(t, Options{Request: r})
	refused(t, err, "mask", "omnijail's own")
}

func TestOptIsShownWhereTheCommandLivesThere(t *testing.T) {
	opt, err := os.MkdirTemp("/opt", "omnijail-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(opt) })
	if err := os.Chmod(opt, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, opt, "bin/tool", 0o755, elf)
	r := request(playground(t))
	r.Argv0 = []byte(opt + "/bin/tool")
	wantShown(t, mustOpen(t, r), opt, []string{""})
}
