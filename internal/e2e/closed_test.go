package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const corpPolicy = `
egress_rules: ["GET api.example.test/read/**"]
credential_proxy:
  - {name: corp, type: https_bearer, target: api.example.test/read/**, source: [{systemd: corp-token}, {env: CORP_TOKEN}]}
`

// execAsks sends an exec request as alice with no client's care and returns the
// refusal; status 101 is a jail that was about to start.
func execAsks(t testing.TB, n *Node, request map[string]any) answer {
	t.Helper()
	if request["argv"] == nil {
		request["argv"] = []string{"true"}
	}
	if request["cwd"] == nil {
		request["cwd"] = n.Project(t, Alice)
	}
	b, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return ask(t, n, Alice, "POST", "/v1/exec", string(b), "Upgrade: omnijail-exec", "Content-Type: application/json")
}

func TestS07_AnOperatorsPolicyIsNotWidened(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"corp": corpPolicy, "open": "caller: [cwd, env, allow, write]\negress_rules: []\n"}})
	type m = map[string]any
	for name, r := range map[string]m{
		"allow":       {"policy": "corp", "add": m{"allow": []string{"POST api.example.test/**"}}},
		"preset":      {"policy": "corp", "add": m{"presets": []string{"github-read"}}},
		"write":       {"policy": "corp", "add": m{"write": []string{"."}}},
		"read":        {"policy": "corp", "add": m{"read": []string{"/srv"}}},
		"env":         {"policy": "corp", "env": m{"LD_PRELOAD": "/x.so"}},
		"backend":     {"policy": "corp", "backend": "none"},
		"secret":      {"policy": "corp", "secret_fds": []string{"GH_TOKEN"}},
		"user":        {"policy": "corp", "user": "2002"},
		"more tty":    {"policy": "open", "tty": m{"rows": 1, "cols": 1}},
		"more preset": {"policy": "open", "add": m{"presets": []string{"pypi"}}},

		"extends":               {"policy": m{"extends": []string{"corp"}}},
		"extends a file":        {"policy": m{"extends": []string{"/home/b/x.yaml"}}},
		"extends upwards":       {"policy": m{"extends": []string{"../corp"}}},
		"another's credential":  {"policy": m{"egress_rules": []string{"GET a.test/**"}, "credential_proxy": []m{{"type": "https_bearer", "target": "a.test", "source": m{"systemd": "corp-token"}}}}},
		"a path as systemd":     {"policy": m{"egress_rules": []string{"GET a.test/**"}, "credential_proxy": []m{{"type": "https_bearer", "target": "a.test", "source": m{"systemd": "../../shadow"}}}}},
		"caller":                {"policy": m{"caller": []string{"backend"}, "extends": []string{"corp"}}},
		"a weakening":           {"policy": m{"weaken": []string{"ptrace"}}},
		"no isolation":          {"policy": m{"weaken": []string{"no_isolation"}, "backend": "none"}},
		"the node's network":    {"policy": m{"allow_network": true}},
		"a name with a slash":   {"policy": "../policies/corp"},
		"a name upwards":        {"policy": ".."},
		"a path":                {"policy": n.Dir + "/policies/corp.yaml"},
		"a hidden name":         {"policy": ".corp"},
		"a name with NUL":       {"policy": "corp\x00"},
		"a name with blanks":    {"policy": "corp "},
		"a name in capitals":    {"policy": "CORP"},
		"an unknown field":      {"policy": "corp", "uid": 0},
		"a list":                {"policy": []string{"corp"}},
		"an unknown policy key": {"policy": m{"root": true}},
	} {
		if a := execAsks(t, n, r); a.status < 400 || a.status >= 500 {
			t.Errorf("%s: %v", name, a)
		}
	}
	// What the operator left open is served, so it is the rule that refuses.
	if a := execAsks(t, n, map[string]any{"policy": "open", "env": map[string]string{"A": "b"}, "add": map[string]any{"write": []string{"."}}}); a.status != 101 {
		t.Errorf("an addition that the policy lists: %v", a)
	}
	for _, path := range []string{"/v1/policies/..%2f..%2fetc%2fpasswd", "/v1/policies/%2e%2e", "/v1/policies/corp%00", "/v1/policies/corp.yaml"} {
		if a := ask(t, n, Alice, "GET", path, ""); a.status != 404 {
			t.Errorf("%s: %v", path, a)
		}
	}
}

func TestS07_PoliciesThatOthersCouldChangeAreNotRoots(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"good": "caller: [cwd]\n"}})
	n.Exec(t, "--policy", "good", "--", "true").Want(t, 0)
	elsewhere := filepath.Join(n.Workspace(t, Alice, map[string]string{"p.yaml": "caller: [cwd]\n"}), "p.yaml")
	for name, spoil := range map[string]func(string) error{
		"alices":   func(p string) error { return os.Chown(p, Alice, Alice) },
		"writable": func(p string) error { return os.Chmod(p, 0o666) },
		"link":     func(p string) error { return errors.Join(os.Remove(p), os.Symlink(elsewhere, p)) },
		"fifo":     func(p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o644)) },
	} {
		file := n.write(t, "policies/"+name+".yaml", "caller: [cwd]\n")
		if err := spoil(file); err != nil {
			t.Fatal(err)
		}
		if a := execAsks(t, n, map[string]any{"policy": name}); a.status < 400 || a.status >= 500 {
			t.Errorf("%s: %v", name, a)
		}
	}
}

// What a jail and other callers are told of a policy is what they need, not where
// secrets are.
func TestS32_NamesThatAreToldToNobody(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"corp": `
caller: [cwd, tty, timeout]
egress_rules: ["GET api.example.test/read/**", "GET other.test/**"]
limits: {timeout: 90s}
credential_proxy:
  - {name: corp, optional: true, type: https_bearer, target: api.example.test/read/**, source: [{command: [/usr/bin/printf, planted-argument]}, {file: /home/operator/planted-file}]}
`}})
	o := n.Exec(t, "--policy", "corp", "--", "sh", "-c", "cat /run/omnijail/policy.json; env; cat /etc/passwd /etc/group /etc/gitconfig 2>/dev/null")
	o.Want(t, 0)
	for _, s := range []string{"planted", "printf", "operator", "source", "command", "policies/corp"} {
		if strings.Contains(o.Stdout, s) {
			t.Errorf("the jail is told %q: %s", s, o.Stdout)
		}
	}
	if !strings.Contains(o.Stdout, "GET api.example.test/read/**") || !strings.Contains(o.Stdout, "OMNIJAIL_ID") {
		t.Errorf("the jail is not told its rules: %s", o.Stdout)
	}
	for _, path := range []string{"/v1/policies", "/v1/policies/corp"} {
		if a := ask(t, n, Bob, "GET", path, ""); a.status != 200 || strings.Contains(a.body, "planted") {
			t.Errorf("%s tells a member: %v", path, a)
		}
	}
}
