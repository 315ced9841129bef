package policy

import (
	"slices"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/jail"
)

const corp = `
egress_rules: ["GET api.corp.example/read/**"]
credential_proxy:
  - {name: corp, type: https_bearer, target: api.corp.example/read/**, source: [{systemd: corp-token}, {env: CORP_TOKEN}]}
limits: {timeout: 60s}
`

// Each widening of an operator's policy by its user is refused, and the refusal
// names the key.
func TestS07_WideningsOfAClosedPolicy(t *testing.T) {
	for _, tt := range []struct {
		key   string
		widen func(*Request)
	}{
		{"allow", func(r *Request) { r.Add.Allow = []string{"POST api.corp.example/**"} }},
		{"preset", func(r *Request) { r.Add.Presets = []string{"github-read"} }},
		{"write", func(r *Request) { r.Add.Write = []string{"."} }},
		{"read", func(r *Request) { r.Add.Read = []string{"/srv"} }},
		{"env", func(r *Request) { r.Env = map[string]string{"LD_PRELOAD": "/home/alice/x.so"} }},
		{"backend", func(r *Request) { r.Backend = "none" }},
		{"secret_fds", func(r *Request) { r.SecretFDs = []string{"GH_TOKEN"} }},
	} {
		req := request()
		tt.widen(&req)
		spec, err := Compile(closed(t, corp), req, facts())
		if spec != nil {
			t.Errorf("%s: compiled", tt.key)
			continue
		}
		es := asErrors(t, err)
		if !es.Has("policy_closed") || !slices.ContainsFunc(es, func(e Error) bool { return e.Key == tt.key }) {
			t.Errorf("%s: got %v", tt.key, err)
		}
	}
}

func TestS07_WhatAClosedPolicyLets(t *testing.T) {
	req := request()
	req.TTY, req.SecretFDs = true, []string{"CORP_TOKEN"}
	req.Limits.Timeout = time.Hour // may be lowered; the policy's own is shorter
	spec, err := Compile(closed(t, corp), req, facts())
	if err != nil {
		t.Fatal(err)
	}
	if spec.Limits.Timeout != time.Minute {
		t.Errorf("timeout %v, want the policy's minute", spec.Limits.Timeout)
	}
	req = request()
	req.Env = map[string]string{"A": "1"}
	req.Add = Add{Presets: []string{"pypi"}, Write: []string{"."}, Allow: []string{"GET a.example.com/**"}}
	open := closed(t, "caller: [cwd, env, preset, write, allow]\n"+corp)
	if _, err := Compile(open, req, facts()); err != nil {
		t.Errorf("what caller lists is refused: %v", err)
	}
	req.TTY = true
	if _, err := Compile(open, req, facts()); err == nil {
		t.Error("caller does not list tty, and tty passes")
	}
}

// Presets are nobody's secret: a request may add to them.
func TestS07_PresetsAreOpen(t *testing.T) {
	doc, err := Preset("offline")
	if err != nil {
		t.Fatal(err)
	}
	req := request()
	req.Add = Add{Presets: []string{"github-read"}, Write: []string{"."}}
	spec, err := Compile(doc, req, facts())
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Rules) == 0 || !spec.View.CwdWrite || spec.Rules[0].Origin != "--preset github-read" {
		t.Errorf("rules %v, writable %v", spec.Rules, spec.View.CwdWrite)
	}
	req.Add.Presets = []string{"github-read", "github-read"}
	if _, err := Compile(doc, req, facts()); err != nil {
		t.Errorf("a preset twice: %v", err)
	}
	req.Add.Presets = slices.Repeat([]string{"github-read"}, maxPresets+1)
	if _, err := Compile(doc, req, facts()); err == nil {
		t.Errorf("%d presets are merged one after the other", maxPresets+1)
	}
}

// A secret may be sent for a credential that the request itself adds.
func TestSecretsOfAnAddedPreset(t *testing.T) {
	doc, err := Preset("offline")
	if err != nil {
		t.Fatal(err)
	}
	req := request()
	req.Add.Presets, req.SecretFDs = []string{"github-read"}, []string{"GH_TOKEN"}
	if _, err := Compile(doc, req, facts()); err != nil {
		t.Error(err)
	}
	req.SecretFDs = append(req.SecretFDs, "GH_TOKEN")
	if _, err := Compile(doc, req, facts()); err == nil {
		t.Error("one secret is accepted twice")
	}
}

// A caller who may bring no policy of its own makes none out of a preset or of
// an operator's policy that lets others add.
func TestS06_NoAdditionsWithoutOwnPolicies(t *testing.T) {
	offline, err := Preset("offline")
	if err != nil {
		t.Fatal(err)
	}
	shipped := closed(t, "caller: [cwd, tty, timeout, env, preset, write, read, allow]\nextends: [github-read]")
	for _, doc := range []*Document{offline, shipped} {
		for key, add := range map[string]Add{
			"write": {Write: []string{"~/x"}}, "read": {Read: []string{"/srv"}}, "allow": {Allow: []string{"GET a.example.com/**"}},
		} {
			req := request()
			req.Add = add
			if _, err := Compile(doc, req, facts()); err != nil {
				t.Errorf("%s, %s: %v", doc.Ref.Name, key, err)
			}
			req.Own = false
			if _, err := Compile(doc, req, facts()); err == nil || !asErrors(t, err).Has("policy_access") {
				t.Errorf("%s, %s by a caller without own policies: %v", doc.Ref.Name, key, err)
			}
		}
	}
}

// A document of a user's never becomes one of the operator's, whatever it says
// of itself, and names nothing that root would open.
func TestS07_UserDocuments(t *testing.T) {
	for _, raw := range []string{
		`{"extends":["corp"]}`,
		`{"extends":["/home/b/x.yaml"]}`,
		`{"extends":["../../home/b/x"]}`,
		`{"doc":{},"closed":true}`,
		`{"doc":{},"name":"../corp"}`,
		`{"doc":{},"path":"rel/x.yaml"}`,
		`{"doc":{},"files":["/a/../b"]}`,
	} {
		if doc, err := DecodeFlat([]byte(raw), 1000); err == nil {
			t.Errorf("%s decodes to %+v", raw, doc.Ref)
		}
	}
	doc, err := DecodeFlat([]byte(`{"doc":{"name":"corp"},"name":"corp","path":"/etc/omnijail/policies/corp.yaml"}`), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Closed || doc.Ref.OwnerUID != 1000 {
		t.Errorf("a user's document is %+v", doc.Ref)
	}
	for _, source := range []string{"{systemd: x}", `{systemd: "../../shadow"}`} {
		doc, err := tryInline("egress_rules: [GET a.example.com]\ncredential_proxy: [{type: https_bearer, target: a.example.com, source: " + source + "}]")
		if err == nil {
			_, err = Compile(doc, request(), facts())
		}
		if err == nil {
			t.Errorf("a user's policy names %s", source)
		}
	}
}

func TestS07_CallerMustLetCwd(t *testing.T) {
	if _, err := tryInline("caller: [env]"); err == nil {
		t.Error("a policy that could never run is accepted")
	}
}

func TestS04_Identity(t *testing.T) {
	for name, change := range map[string]func(*jail.User){
		"uid 0":          func(u *jail.User) { u.UID = 0 },
		"gid 0":          func(u *jail.User) { u.GID = 0 },
		"overflow uid":   func(u *jail.User) { u.UID = 65534 },
		"overflow gid":   func(u *jail.User) { u.GID = 65534 },
		"unset uid":      func(u *jail.User) { u.UID = ^uint32(0) },
		"socket's group": func(u *jail.User) { u.GID = 990 },
	} {
		req := request()
		change(&req.User)
		if _, err := Compile(inline(t, ""), req, facts()); err == nil {
			t.Errorf("%s compiles", name)
		} else if !asErrors(t, err).Has("identity") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestS04_Groups(t *testing.T) {
	for _, tt := range []struct {
		group string
		want  []uint32
	}{
		{"video", []uint32{44}}, {`"44"`, []uint32{44}},
		{"disk", nil}, {"omnijail", nil}, {`"990"`, nil}, {"root", nil}, {`"0"`, nil}, {`"1001"`, nil},
	} {
		req := request()
		req.User.Groups = []uint32{0, 6} // what the caller's database says is not asked
		spec, err := Compile(inline(t, "groups: ["+tt.group+"]"), req, facts())
		switch {
		case tt.want == nil && err == nil:
			t.Errorf("%s: passed as %v", tt.group, spec.OCI.Process.User.AdditionalGids)
		case tt.want != nil && (err != nil || !slices.Equal(spec.OCI.Process.User.AdditionalGids, tt.want)):
			t.Errorf("%s: %v", tt.group, err)
		}
	}
}
