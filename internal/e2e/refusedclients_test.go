package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// refusedPolicy allows each client's host one path that nobody asks for; line 3 and
// those after it are the rules.
const refusedPolicy = `caller: [cwd, tty, timeout, env, write, read]
egress_rules:
  - "GET registry.example.test/open"
  - "POST api.github.com/open"
  - "GET github.com/acme/app.git/info/refs"
  - "POST github.com/acme/app.git/git-upload-pack"
  - "GET api.example.test/open"
credential_proxy:
  - {type: gh_basic, source: {env: E2E_TOKEN}}
`

// refused are clients as people run them. inside is what each shows of our answer,
// after "denied"; nothing where a client shows nothing but that it failed, so that
// omnijailctl's own line has to do. rule is the line that came nearest.
var refused = []struct {
	name, script, request, inside string
	rule                          string
}{
	{"gh api", `gh api -X DELETE repos/a/b`, "DELETE api.github.com/repos/a/b", shown, `"POST api.github.com/open", clients.yaml:4`},
	{"gh issue create", `gh issue create -R a/b -t x -b y`, "POST api.github.com/graphql", shown, `"POST api.github.com/open", clients.yaml:4`},
	{"git clone", `git clone -q https://github.com/a/b.git x`, "GET github.com/a/b.git/info/refs", shown, `"GET github.com/acme/app.git/info/refs", clients.yaml:5`},
	{"git push", `git clone -q https://github.com/acme/app.git y; git -C y push -q origin HEAD:x`, "POST github.com/acme/app.git/git-receive-pack", shown, `"POST github.com/acme/app.git/git-upload-pack", clients.yaml:6`},
	{"curl", `curl -sS -X PUT https://api.example.test/x; exit 1`, "PUT api.example.test/x", shown, `"GET api.example.test/open", clients.yaml:7`},
	{"npm install", `npm install --no-update-notifier greet`, "GET registry.example.test/npm/greet", shown, `"GET registry.example.test/open", clients.yaml:3`},
	{"npm publish", `echo '{"name":"x","version":"1.0.0"}' >package.json; npm publish --no-update-notifier --//registry.example.test/npm/:_authToken=x`, "PUT registry.example.test/npm/x", shown, `"GET registry.example.test/open", clients.yaml:3`},
	{"pip, a file", `/usr/bin/pip3 download -q https://registry.example.test/greet-1.0.0-py3-none-any.whl`, "GET registry.example.test/greet-1.0.0-py3-none-any.whl", shown, `"GET registry.example.test/open", clients.yaml:3`},
	{"pip, an index", `/usr/bin/pip3 download -q greet --index-url https://registry.example.test/simple`, "GET registry.example.test/simple/greet/", "No matching distribution found for greet", `"GET registry.example.test/open", clients.yaml:3`},
	{"wget", `wget -nv -O x https://api.example.test/x`, "GET api.example.test/x", shown, `"GET api.example.test/open", clients.yaml:7`},
	{"Python", `/usr/bin/python3 -c 'import urllib.request as u; u.urlopen("https://api.example.test/x")'`, "GET api.example.test/x", shown, `"GET api.example.test/open", clients.yaml:7`},
	{"go", `GO111MODULE=on GOFLAGS=-mod=mod GONOSUMDB='*' GOTOOLCHAIN=local GOPROXY=https://registry.example.test/go go list -m -versions mod.example/x`, "GET registry.example.test/go/mod.example/x/@v/list", shown, `"GET registry.example.test/open", clients.yaml:3`},
	{"cargo", `CARGO_UNSTABLE_SPARSE_REGISTRY=true RUSTC_BOOTSTRAP=1 /usr/bin/cargo search greet --index sparse+https://registry.example.test/cargo/`, "GET registry.example.test/cargo/config.json", shown, `"GET registry.example.test/open", clients.yaml:3`},
	{"kubectl", `kubectl --token x --server https://api.example.test get --raw /x`, "GET api.example.test/x", shown, `"GET api.example.test/open", clients.yaml:7`},
	{"aws, XML", `AWS_EC2_METADATA_DISABLED=true aws --no-sign-request --region x-1 --endpoint-url https://api.example.test s3api list-buckets`, "GET api.example.test/", shown, `"GET api.example.test/open", clients.yaml:7`},
	{"aws, JSON", `AWS_EC2_METADATA_DISABLED=true aws --no-sign-request --region x-1 --endpoint-url https://api.example.test dynamodb list-tables`, "POST api.example.test/", shown, `"GET api.example.test/open", clients.yaml:7`},
	{"aws, query", `AWS_EC2_METADATA_DISABLED=true aws --no-sign-request --region x-1 --endpoint-url https://api.example.test sts get-caller-identity`, "POST api.example.test/", shown, `"GET api.example.test/open", clients.yaml:7`},
	{"Chromium", chromium + ` https://api.example.test/x 2>/dev/null; exit 1`, "GET api.example.test/x", shown, `"GET api.example.test/open", clients.yaml:7`},
}

// shown stands for the reason in full, and for whom to ask.
const shown = "the reason"

var askOwner = regexp.MustCompile(`ask the owner: omnijailctl why [0-9a-f]{8}\b`)

// TestRefusedClientsShowTheReason: what was refused, which line came nearest, and
// what to type, in the client's own words and in omnijailctl's.
func TestRefusedClientsShowTheReason(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{
		Policy: map[string]string{"clients": refusedPolicy}, Bubblewrap: true,
		Hosts: func(n *Node) map[string]string { return map[string]string{registryHost: n.Lab.HTTPS().String()} },
	})
	if _, err := n.Lab.AddRepo(t.Context(), "acme/app"); err != nil {
		t.Fatal(err)
	}
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			o := n.Run(t, Ctl{
				UID: Alice, Dir: n.Workspace(t, Alice, nil), Env: []string{"E2E_TOKEN=" + Token, "PATH=/usr/bin:/bin:" + installedGo(t)},
				Args: []string{"exec", "--policy", "clients", "--write", ".", "--env", "npm_config_globalconfig=/dev/null", "--env", "PIP_CONFIG_FILE=/dev/null",
					"--env", "npm_config_registry=https://registry.example.test/npm/", "--", "sh", "-c", c.script},
			})
			if o.Exit == 0 {
				t.Error("the client is content")
			}
			rule, _, _ := strings.Cut(c.rule, ",")
			why := "denied " + c.request + ": no rule allows it (nearest: "
			theirs := unescape(o.Stdout + notOurs(o.Stderr))
			if c.inside != shown {
				if !strings.Contains(theirs, c.inside) {
					t.Errorf("the client says:\n%s", theirs)
				}
			} else if !strings.Contains(theirs, "omnijail: "+why+rule) || !askOwner.MatchString(theirs) {
				t.Errorf("the client says:\n%s\nwithout %q", theirs, why+rule)
			}
			mine := strings.ReplaceAll(o.Stderr, n.Dir+"/policies/", "")
			for _, want := range []string{"omnijailctl: " + why + c.rule + ")\n", "hint: omnijailctl exec --allow '" + c.request + "' -- "} {
				if !strings.Contains(mine, want) {
					t.Errorf("omnijailctl says:\n%s\nwithout %q", mine, want)
				}
			}
		})
	}
}

// notOurs is what ours leaves out.
func notOurs(stderr string) string {
	var b strings.Builder
	for line := range strings.Lines(stderr) {
		if ours(line) == "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// unescape undoes JSON's, HTML's and XML's ways with a quotation mark.
func unescape(s string) string {
	return strings.NewReplacer(`\"`, `"`, "&quot;", `"`, "&#34;", `"`).Replace(s)
}
