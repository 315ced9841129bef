package creds

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestCheckRefuses(t *testing.T) {
	ok := Defaults(Binding{Type: Header, Header: "X-Api-Key", Env: []EnvVar{{Name: "KEY"}},
		Targets: []Target{target(t, "h.example/v1/**")}, Sources: source}, "")
	if err := ok.Check(); err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(*Binding){
		"name":                       func(b *Binding) { b.Name = "../x" },
		"type":                       func(b *Binding) { b.Type = "oauth" },
		"header \"":                  func(b *Binding) { b.Header = "X Api" },
		"header Host":                func(b *Binding) { b.Header = "hOsT" },
		"header Cookie":              func(b *Binding) { b.Header = "cookie" },
		"header Content-Length":      func(b *Binding) { b.Header = "content-length" },
		"header Proxy-Authorization": func(b *Binding) { b.Header = "Proxy-Authorization" },
		"prefix":                     func(b *Binding) { b.Prefix = "a\r\nX: y" },
		"username":                   func(b *Binding) { b.Username = "me" },
		"targets: a credential":      func(b *Binding) { b.Targets = nil },
		"targets: a host":            func(b *Binding) { b.Targets = []Target{{Scheme: SchemeHeader}} },
		"is not sent as":             func(b *Binding) { b.Targets[0].Scheme = SchemeBasic },
		"dot segment":                func(b *Binding) { b.Targets[0].Path = "/a/../b" },
		"OPTIONS":                    func(b *Binding) { b.Methods = []string{"GET", "OPTIONS"} },
		"TRACE":                      func(b *Binding) { b.Methods = []string{"TRACE"} },
		"methods: the list":          func(b *Binding) { b.Methods = []string{} },
		"variable name":              func(b *Binding) { b.Env = []EnvVar{{Name: "A=B"}} },
		"env KEY":                    func(b *Binding) { b.Env = []EnvVar{{Name: "KEY", Fixed: "a\nb"}} },
		"known are anthropic":        func(b *Binding) { b.Shape = "aws" },
		"needs env":                  func(b *Binding) { b.Shape, b.Env = "github", nil },
		"foreign":                    func(b *Binding) { b.Foreign = "maybe" },
		"source: missing":            func(b *Binding) { b.Sources = nil },
		"kind":                       func(b *Binding) { b.Sources = []Source{{Kind: "vault"}} },
		"env source":                 func(b *Binding) { b.Sources = []Source{{Kind: SourceEnv, Env: "A", File: "/x"}} },
		"file source":                func(b *Binding) { b.Sources = []Source{{Kind: SourceFile, File: "rel"}} },
		"command source":             func(b *Binding) { b.Sources = []Source{{Kind: SourceCommand, Argv: []string{"a\x00"}}} },
		"systemd source":             func(b *Binding) { b.Sources = []Source{{Kind: SourceSystemd, Name: "../../shadow"}} },
		"ttl":                        func(b *Binding) { b.TTL = time.Hour },
	} {
		b := ok
		b.Targets = append([]Target(nil), ok.Targets...)
		change(&b)
		if err := b.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestCheckAll(t *testing.T) {
	bind := func(name, at string, methods ...string) Binding {
		return Defaults(Binding{Name: name, Type: Bearer, Methods: methods, Targets: []Target{target(t, at)}, Sources: source}, "")
	}
	env := bind("env", "e.example")
	env.Env = []EnvVar{{Name: "V"}}
	env2 := bind("env2", "f.example")
	env2.Env = []EnvVar{{Name: "V"}}
	for _, c := range []struct {
		bs   []Binding
		says string
	}{
		{[]Binding{bind("a", "h.example"), bind("b", "other.example")}, ""},
		{[]Binding{bind("a", "h.example/v1/**"), bind("b", "h.example/v2/**")}, ""},
		{[]Binding{bind("a", "h.example"), bind("b", "h.example:8443")}, ""},
		{[]Binding{bind("a", "h.example", "GET"), bind("b", "h.example", "POST")}, ""},
		{[]Binding{bind("a", "h.example"), bind("b", "h.example/v2/**")}, `"a" and "b" both claim h.example:443`},
		{[]Binding{bind("a", "h.example/**/x"), bind("b", "h.example/v2/**")}, "both claim"},
		{[]Binding{bind("a", "h.example", "GET", "PUT"), bind("b", "H.example.", "PUT")}, "both claim"},
		{[]Binding{bind("a", "h.example"), bind("a", "other.example")}, "two of this name"},
		{[]Binding{env, env2}, "env V"},
		{make([]Binding, maxBindings+1), "more than"},
	} {
		err := CheckAll(c.bs)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v, want %q", err, c.says)
		}
		if _, tableErr := NewTable(c.bs); (tableErr == nil) != (err == nil) {
			t.Errorf("NewTable says %v, CheckAll %v", tableErr, err)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for in, want := range map[string]string{
		"h.example": "h.example:443", "H.example.:8443": "h.example:8443", "h.example/a/**": "h.example:443 /a/**",
		"h.example/": "h.example:443 /", "[2001:db8::1]/x": "[2001:db8::1]:443 /x",
		"*.h.example": "", "*": "", "": "", "/x": "", "h.example/../x": "", "u@h.example": "", "https://h.example": "",
		"localhost:8000": "", "h.example/a%2fb": "", "127.1": "",
	} {
		a, path, err := ParseTarget(in)
		got := strings.TrimSpace(a.String() + " " + path)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("ParseTarget(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestGitHubDefaults(t *testing.T) {
	for host, want := range map[string]string{
		"":             "github.com:443 basic, api.github.com:443 token; GH_TOKEN GITHUB_TOKEN",
		"GitHub.com":   "github.com:443 basic, api.github.com:443 token; GH_TOKEN GITHUB_TOKEN",
		"acme.ghe.com": "acme.ghe.com:443 basic, api.acme.ghe.com:443 token; GH_TOKEN GITHUB_TOKEN GH_HOST=acme.ghe.com",
		"git.corp.example": "git.corp.example:443/api/v3/** token, git.corp.example:443/api/graphql token, git.corp.example:443 basic; " +
			"GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN GH_HOST=git.corp.example",
	} {
		b := Defaults(Binding{Type: GH, Sources: source}, host)
		if err := b.Check(); err != nil {
			t.Errorf("%q: %v", host, err)
		}
		var targets, env []string
		for _, t := range b.Targets {
			targets = append(targets, t.Authority.String()+t.Path+" "+string(t.Scheme))
		}
		for _, e := range b.Env {
			env = append(env, strings.TrimSuffix(e.Name+"="+e.Fixed, "="))
		}
		if got := strings.Join(targets, ", ") + "; " + strings.Join(env, " "); got != want {
			t.Errorf("%q gives %s, want %s", host, got, want)
		}
	}
	if err := Defaults(Binding{Type: GH, Sources: source}, "no host").Check(); err == nil {
		t.Error("a host that is none passes")
	}
}

func TestEnterpriseRendering(t *testing.T) {
	tab := table(t, []Binding{Defaults(Binding{Type: GH, Sources: source}, "git.corp.example")})
	for path, want := range map[string]string{
		"/api/v3/user": "token s", "/api/graphql": "token s", "/o/r.git/info/refs": basic("x-access-token", "s"),
		"/api/v3/repos/o/r/branches/a%2Fb": "token s",
	} {
		v := tab.Judge(request(t, "git.corp.example", path))
		if v.Action != Attach {
			t.Errorf("%s: %v", path, v.Action)
			continue
		}
		if _, got := tab.Header(v, []byte("s")); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestBindingSurvivesJSON(t *testing.T) {
	for _, b := range bindings(t) {
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var again Binding
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(b, again) {
			t.Errorf("%s reads back as %+v, %v", text, again, err)
		}
	}
}
