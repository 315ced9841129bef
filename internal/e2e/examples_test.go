package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

// toolchain is one example with the tool that it is for.
type toolchain struct {
	example string
	files   map[string]string // of the project
	script  string            // run as sh -ec, twice in one tree
	want    string            // in its standard output
	env     []string          // name=value, given by --env
}

var toolchains = []toolchain{
	{
		example: "agent", want: "pushed\n",
		script: `echo more >>notes.txt; git add notes.txt; git commit -q -m more; git switch -q -c "try-$(git rev-list --count HEAD)"
			git stash list; git push -q origin HEAD; git fetch -q; test "$(gh api user -q .login)" = octocat; echo pushed`,
	},
	{
		example: "python", want: "greetings from a wheel\n",
		files: map[string]string{"main.py": "import greet\nprint(greet.TEXT)\n"},
		script: `test -d .venv || python3 -m venv .venv
			.venv/bin/pip install -q --disable-pip-version-check greet; .venv/bin/python main.py
			mkdir -p .pytest_cache .tox && date >.pytest_cache/x`,
	},
	{
		example: "node", want: "greetings from a tarball\n",
		files: map[string]string{
			"package.json": `{"name":"app","version":"1.0.0","scripts":{"build":"node index.js"},"dependencies":{"greet":"^1.0.0"}}`,
			"index.js":     "console.log(require('greet'))\n",
		},
		script: `npm install --silent; npm run --silent build; mkdir -p .next/cache .turbo && date >.next/cache/x`,
	},
	{
		example: "go", want: "greetings from a module\n", env: []string{"GONOSUMDB=mod.example", "GONOSUMCHECK=1", "GOFLAGS=-buildvcs=false"},
		files: map[string]string{
			"go.mod":  "module app\n\ngo 1.20\n\nrequire mod.example/greet v1.0.0\n",
			"main.go": "package main\n\nimport \"mod.example/greet\"\n\nfunc main() { println2(greet.Text) }\n",
			"out.go":  "package main\n\nimport \"fmt\"\n\nfunc println2(s string) { fmt.Println(s) }\n",
		},
		script: `go mod tidy; go build -o bin/app .; ./bin/app`,
	},
	{
		example: "rust", want: "greetings from a crate\n",
		files: map[string]string{
			"Cargo.toml":                        "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\ngreet = \"1.0.0\"\n",
			"src/main.rs":                       "fn main() { println!(\"{}\", greet::TEXT); }\n",
			".cargo/config.toml":                "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"crates\"\n",
			"crates/greet/Cargo.toml":           "[package]\nname = \"greet\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
			"crates/greet/src/lib.rs":           "pub const TEXT: &str = \"greetings from a crate\";\n",
			"crates/greet/.cargo-checksum.json": `{"files":{},"package":null}`,
		},
		script: `cargo build -q; ./target/debug/app; ! echo x >.cargo/config.toml`,
	},
	{
		example: "java", want: "greetings from a class\n",
		files: map[string]string{
			"pom.xml": `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
				<parent><groupId>example</groupId><artifactId>parent</artifactId><version>1.0.0</version><relativePath/></parent>
				<artifactId>app</artifactId><packaging>pom</packaging></project>`,
			"App.java": "public class App { public static void main(String[] a) { System.out.println(\"greetings from a class\"); } }\n",
		},
		script: `mvn -q -B validate; javac -d build App.java; java -cp build App; mkdir -p .gradle && date >.gradle/x`,
	},
	{
		example: "browser", want: "<p>greetings from a page</p>",
		files:  map[string]string{"page.html": "<!DOCTYPE html><p>no script</p><script>document.querySelector('p').textContent = 'greetings from a page'</script>"},
		script: `chromium --headless --disable-gpu --no-first-run --dump-dom "file://$PWD/page.html" 2>/dev/null`,
	},
	{
		example: "review", want: "read\n",
		script: `git log -1 --oneline >/dev/null; git diff --stat >/dev/null; test -d .venv -a -d .next -a -d .gradle -a -d .tox; ! touch x 2>/dev/null; echo read`,
	},
}

// exampleNode serves the registries, and alice has the examples among her own
// policies.
func exampleNode(t *testing.T) *Node {
	t.Helper()
	registries := []string{"pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "proxy.golang.org", "repo.maven.apache.org"}
	n := NewNode(t, Options{
		Config: map[string]any{"access": []any{map[string]any{
			"groups": []string{fmt.Sprint(socketGID)}, "policies": []string{"own", "*"}, "sources": []string{"env", "file", "command"},
			"weaken": []string{"nested_sandbox"},
		}}},
		Hosts: func(n *Node) map[string]string {
			hosts := map[string]string{}
			for _, name := range registries {
				hosts[name] = n.Lab.HTTPS().String()
			}
			return hosts
		},
	})
	index, wheels := lab.PyPI(lab.Package{Name: "greet", Files: map[string]string{"greet.py": "TEXT = 'greetings from a wheel'\n"}})
	n.Lab.Serve("pypi.org", index)
	n.Lab.Serve("files.pythonhosted.org", wheels)
	n.Lab.Serve("registry.npmjs.org", lab.NPM(lab.Package{Name: "greet", Files: map[string]string{"index.js": "module.exports = 'greetings from a tarball'\n"}}))
	n.Lab.Serve("proxy.golang.org", lab.GoProxy(lab.Package{Name: "mod.example/greet", Files: map[string]string{
		"greet.go": "package greet\n\nconst Text = \"greetings from a module\"\n"}}))
	n.Lab.Serve("repo.maven.apache.org", lab.Maven(map[string]string{"example/parent/1.0.0/parent-1.0.0.pom": `<project xmlns="http://maven.apache.org/POM/4.0.0">
		<modelVersion>4.0.0</modelVersion><groupId>example</groupId><artifactId>parent</artifactId><version>1.0.0</version><packaging>pom</packaging></project>`}))
	if _, err := n.Lab.AddRepo(t.Context(), "octocat/app"); err != nil {
		t.Fatal(err)
	}
	n.giveExamples(t)
	return n
}

func (n *Node) giveExamples(t *testing.T) {
	t.Helper()
	home := n.Home(t, Alice)
	own := filepath.Join(home, ".config/omnijail/policies")
	err := errors.Join(os.MkdirAll(own, 0o755), os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\nname = A\nemail = a@example.test\n"), 0o644))
	for _, c := range toolchains {
		text, e := os.ReadFile("../../examples/" + c.example + ".yaml")
		text = []byte(strings.ReplaceAll(string(text), "OWNER/REPO", "octocat/app"))
		err = errors.Join(err, e, os.WriteFile(filepath.Join(own, c.example+".yaml"), text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestExamplesWorkTwiceInOneTree runs what each example is for, with the real
// tools and registries, as a user that no database knows; and again where all of
// them have left what they leave.
func TestExamplesWorkTwiceInOneTree(t *testing.T) {
	t.Parallel()
	n := exampleNode(t)
	above := n.Workspace(t, Alice, nil)
	n.example(t, above, "agent", `git clone -q https://github.com/octocat/app.git`).Want(t, 0)
	dir := filepath.Join(above, "app")
	files := map[string]string{}
	for _, c := range toolchains {
		maps.Copy(files, c.files)
	}
	n.addFiles(t, dir, files)
	for _, round := range []string{"first", "second"} {
		for _, c := range toolchains {
			if c.example == "browser" && withoutBwrap() {
				continue // it nests nothing
			}
			t.Run(round+"/"+c.example, func(t *testing.T) {
				if o := n.example(t, dir, c.example, c.script, c.env...).Want(t, 0); !strings.Contains(o.Stdout, c.want) {
					t.Errorf("stdout: %s\nstderr: %s", o.Stdout, o.Stderr)
				}
			})
		}
	}
}

// example runs a script as alice under one of the examples.
func (n *Node) example(t *testing.T, dir, name, script string, env ...string) Output {
	t.Helper()
	args := []string{"exec", "--policy", name}
	for _, kv := range env {
		args = append(args, "--env", kv)
	}
	return n.Run(t, Ctl{
		UID: Alice, Dir: dir, Args: append(args, "--", "sh", "-ec", script),
		Env: []string{"GH_TOKEN=" + Token, "PATH=/usr/bin:/bin:" + installedGo(t)},
	})
}

// installedGo is the folder of a Go that every user can run. The test's own may be
// one that the command go fetched, below root's home.
func installedGo(t *testing.T) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/go/bin") {
		if _, err := os.Stat(filepath.Join(dir, "go")); err == nil && strings.HasPrefix(dir, "/usr/") {
			return dir
		}
	}
	t.Fatal("there is no Go below /usr")
	return ""
}

// addFiles writes files of alice's into a directory of hers.
func (n *Node) addFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644), os.Chown(p, Alice, Alice))
		for d := filepath.Dir(p); d != dir; d = filepath.Dir(d) {
			err = errors.Join(err, os.Chown(d, Alice, Alice))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
