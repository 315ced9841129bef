package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

// registryHost serves what package managers and service clients ask for, each
// below a path of its own, and answers nobody without the token.
const registryHost = "registry.example.test"

const everyClientPolicy = clientsPolicy + `  - {name: registry, type: https_bearer, target: registry.example.test, env: REGISTRY_TOKEN, source: {env: E2E_TOKEN}}
`

// javaClients read a URL as Java's two clients do.
var javaClients = map[string]string{
	"Modern.java": `
import java.net.URI;
import java.net.http.*;

public class Modern {
  public static void main(String[] a) throws Exception {
    HttpRequest r = HttpRequest.newBuilder(URI.create(a[0])).build();
    System.out.println(HttpClient.newHttpClient().send(r, HttpResponse.BodyHandlers.ofString()).body());
  }
}`,
	"Old.java": `
public class Old {
  public static void main(String[] a) throws Exception {
    System.out.println(new String(new java.net.URL(a[0]).openConnection().getInputStream().readAllBytes()));
  }
}`,
}

// ownRoots makes pip believe a file that it brings, as every pip but Debian's does.
const ownRoots = `import os
def where(): return os.path.join(os.path.dirname(__file__), "cacert.pem")
def contents(): return open(where()).read()
`

// everyClient are the clients that work without being configured, and what each
// prints when it got its answer. A client that is missing fails its test.
var everyClient = []struct{ name, script, says string }{
	{"curl", `curl -sS https://api.example.test/user`, `"login":"octocat"`},
	{"curl-http", `curl -sS http://example.test/`, "lab\n"},
	{"wget", `wget -qO- https://api.example.test/user`, `"login":"octocat"`},
	{"git", `git ls-remote https://git.example.test/acme/private-app.git`, "refs/heads/main"},
	{"py-urllib", `/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("https://api.example.test/user").read().decode())'`, `"login":"octocat"`},
	{"pip-requests", `PYTHONPATH=$PWD/pip /usr/bin/python3 -c 'from pip._vendor import requests as r; print(r.get("https://api.example.test/user").text)'`, `"login":"octocat"`},
	{"pip", `/usr/bin/pip3 index versions greet --index-url https://registry.example.test/pypi/simple`, "greet (1.0.0)"},
	{"pyenv-pip", `PYTHONPATH=$PWD/pip /usr/bin/python3 -m pip index versions greet --index-url https://registry.example.test/pypi/simple`, "greet (1.0.0)"},
	{"node-fetch", `node -e '` + nodeFetch + `'`, `"login":"octocat"`},
	{"node-fetch-use-env-proxy", `NODE_USE_ENV_PROXY=1 node -e '` + nodeFetch + `'`, `"login":"octocat"`},
	{"node-https", `node -e 'require("https").get("https://api.example.test/user", r => r.pipe(process.stdout))'`, `"login":"octocat"`},
	{"node-fetch-system-ca", `node --use-openssl-ca -e '` + nodeFetch + `'`, `"login":"octocat"`},
	{"npm", `npm view greet version --registry https://registry.example.test/npm/`, "1.0.0\n"},
	{"go-http", `./client https://api.example.test/user`, `"login":"octocat"`},
	{"go-mod", `GO111MODULE=on GOFLAGS=-mod=mod GOTOOLCHAIN=local GONOSUMDB='*' GOPROXY=https://registry.example.test/go go list -m -versions mod.example/greet`, "mod.example/greet v1.0.0"},
	{"java-HttpClient", `java -cp . Modern https://api.example.test/user`, `"login":"octocat"`},
	{"java-URLConn", `java -cp . Old https://api.example.test/user`, `"login":"octocat"`},
	{"cargo", `CARGO_UNSTABLE_SPARSE_REGISTRY=true RUSTC_BOOTSTRAP=1 /usr/bin/cargo search greet --index sparse+https://registry.example.test/cargo/`, `greet = "1.0.0"`},
	{"gh", `gh api user`, `"login":"octocat"`},
	{"apt", `mkdir -p apt/lists/partial apt/archives/partial; echo 'deb [trusted=yes arch=amd64] https://registry.example.test/apt stable main' >apt/list
		opt="-qq -o Dir::Etc=$PWD/apt -o Dir::Etc::SourceList=$PWD/apt/list -o Dir::State=$PWD/apt -o Dir::State::status=/dev/null -o Dir::Cache=$PWD/apt -o APT::Architecture=amd64"
		apt-get $opt update; apt-cache $opt show greet`, "Package: greet\n"},
	{"kubectl", `kubectl --token $REGISTRY_TOKEN --server https://registry.example.test get --raw /version`, `"gitVersion":"v1.32.0"`},
	{"aws", `AWS_EC2_METADATA_DISABLED=true aws --no-sign-request --region x-1 --endpoint-url https://registry.example.test/s3 s3api list-buckets`, `"greetings"`},
}

const nodeFetch = `fetch("https://api.example.test/user").then(r => r.text()).then(console.log)`

// everyClientNode serves all that the clients ask for, and has their programs in
// a directory of alice's.
func everyClientNode(t *testing.T) (n *Node, dir string) {
	t.Helper()
	n = NewNode(t, Options{
		Policy: map[string]string{"clients": strings.Replace(everyClientPolicy, "egress_rules:", `egress_rules:
  - "* registry.example.test/**"
  - "GET http://example.test/"`, 1)},
		Hosts: func(n *Node) map[string]string { return map[string]string{registryHost: n.Lab.HTTPS().String()} },
	})
	none := map[string]string{}
	greet := lab.Package{Name: "greet", Files: none}
	index, _ := lab.PyPI(greet)
	n.Lab.Serve(registryHost, n.Lab.Private(lab.Below(map[string]http.Handler{
		"/pypi": index, "/npm": lab.NPM(greet), "/go": lab.GoProxy(lab.Package{Name: "mod.example/greet", Files: none}),
		"/cargo": lab.Cargo("https://"+registryHost+"/cargo", greet), "/apt": lab.Apt(greet), "/version": lab.KubernetesVersion(), "/s3": lab.S3("greetings"),
	})))
	if _, err := n.Lab.AddRepo(t.Context(), "acme/private-app"); err != nil {
		t.Fatal(err)
	}
	dir = n.Workspace(t, Alice, javaClients)
	buildGo(t, dir, "client", goClient)
	outside(t, "javac", "--release", "11", "-d", dir, filepath.Join(dir, "Modern.java"), filepath.Join(dir, "Old.java"))
	pip := filepath.Join(dir, "pip")
	wheels, err := filepath.Glob("/usr/share/python-wheels/pip-*.whl")
	if err != nil || len(wheels) == 0 {
		t.Fatalf("python3-pip-whl is needed: %v", err)
	}
	outside(t, "/usr/bin/python3", "-m", "zipfile", "-e", wheels[0], pip)
	if err := os.WriteFile(pip+"/pip/_vendor/certifi/core.py", []byte(ownRoots), 0o644); err != nil {
		t.Fatal(err)
	}
	return n, dir
}

// outside runs a program of the test's own.
func outside(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", argv[0], err, out)
	}
}

// TestEveryClientIsAuthenticatedAndKnowsNoSecret runs each with nothing but what a
// jail gives it: no variable of this machine's, no configuration of pip's or npm's.
func TestEveryClientIsAuthenticatedAndKnowsNoSecret(t *testing.T) {
	t.Parallel()
	n, dir := everyClientNode(t)
	for _, c := range everyClient {
		t.Run(c.name, func(t *testing.T) {
			n.Lab.Forget()
			o := n.Run(t, Ctl{
				UID: Alice, Dir: dir, Env: []string{"E2E_TOKEN=" + Token, "PATH=/usr/bin:/bin:" + installedGo(t)},
				Args: []string{"exec", "--policy", "clients", "--env", "npm_config_globalconfig=/dev/null", "--env", "PIP_CONFIG_FILE=/dev/null",
					"--", "sh", "-c", hunt, "sh", "sh", "-ec", c.script},
			}).Want(t, 0)
			if !strings.Contains(o.Stdout, c.says) {
				t.Errorf("stdout %q\nstderr: %s", o.Stdout, o.Stderr)
			}
			for _, ours := range []string{"omnijailctl:", "npm warn", "Picked up"} {
				if strings.Contains(o.Stderr, ours) {
					t.Errorf("it complains of the jail: %s", o.Stderr)
				}
			}
			seen := n.Lab.Seen()
			if len(seen) == 0 {
				t.Error("the upstream saw nothing")
			}
			secret := c.name != "curl-http"
			for _, s := range seen {
				if s.TLS != secret || s.Authorized != secret {
					t.Errorf("the upstream saw %+v", s)
				}
			}
		})
	}
}
