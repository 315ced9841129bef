package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// Whatever refuses a command or something that it does, the refusal has an id, and
// why says which line decided and what to do about it.
func TestEveryRefusalIsExplained(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{
		"narrow": narrowPolicy,
		"seen":   "caller: [cwd, tty, timeout, limits]\nobserve: true",
		"bound": "caller: [cwd, tty, timeout]\negress_rules: ['GET api.example.test/**']\n" +
			"credential_proxy: [{name: model, type: https_bearer, target: api.example.test, foreign: deny, env: KEY, source: {env: KEY}}]",
		"command": "egress_rules: ['GET api.example.test/**']\n" +
			"credential_proxy: [{name: model, type: https_bearer, target: api.example.test, resolve: start, source: {command: [/bin/false, \"it's\"]}}]",
	}})
	key := []string{"KEY=" + Token}
	for name, c := range map[string]struct {
		policy string
		env    []string
		flags  []string
		argv   []string
		why    []string
	}{
		"request":     {"narrow", nil, nil, []string{"curl", "-s", "https://api.example.test/closed"}, []string{"(no_rule)", "policies/narrow.yaml:", "to allow omnijailctl exec --allow 'GET api.example.test/closed'"}},
		"deny rule":   {"narrow", nil, nil, []string{"curl", "-s", "https://api.example.test/open/secret/x"}, []string{"(deny_rule)", "policies/narrow.yaml:", "to allow that rule would have to go: "}},
		"name":        {"narrow", nil, nil, []string{"curl", "-s", "https://new.example/"}, []string{"(name_denied)", "to allow omnijailctl exec --allow 'GET,HEAD new.example/**'"}},
		"stream":      {"narrow", nil, nil, python(rawTCP, "api.example.test", "443"), []string{"(raw_tcp)", "to allow omnijailctl exec --allow 'tcp://api.example.test:443'"}},
		"plain http":  {"narrow", nil, nil, []string{"curl", "-s", "http://api.example.test/x"}, []string{"(plain_http)", "'GET http://api.example.test/x'"}},
		"placeholder": {"bound", key, nil, []string{"sh", "-c", `curl -s -H "X-Other: $KEY" https://api.example.test/x`}, []string{"(placeholder)", "a placeholder was sent where it does not belong"}},
		"foreign":     {"bound", key, nil, []string{"curl", "-s", "-H", "Authorization: Bearer mine", "https://api.example.test/x"}, []string{"(foreign)", `to allow foreign: forward in the credential "model"`}},
		"source":      {"command", nil, nil, []string{"true"}, []string{"(credential_unavailable)", "policies/command.yaml:", `to allow see that this prints it: '/bin/false' 'it'\''s'`}},
		"limit":       {"seen", nil, []string{"--memory", "64m"}, []string{"/usr/bin/python3", "-c", "x = bytearray(200 << 20)"}, []string{"(limit)", "killed: memory limit 64 MiB", "to allow --memory 128m"}},
		"time":        {"seen", nil, []string{"--timeout", "300ms"}, []string{"sleep", "60"}, []string{"(limit)", "time limit 300ms", "to allow --timeout 600ms"}},
		"file":        {"seen", nil, nil, []string{"touch", "x"}, []string{"(file_write)", "line     the working directory", "to allow omnijailctl exec --write . -- …"}},
		"call":        {"seen", nil, nil, []string{"unshare", "-U", "true"}, []string{"(syscall)", "unshare", `to allow weaken: ["nested_sandbox"]`}},
		"closed":      {"bound", key, []string{"--write", "."}, []string{"true"}, []string{"(policy_closed)", "write"}},
		"directory":   {"narrow", nil, []string{"--read", "/nowhere/at/all"}, []string{"true"}, []string{"(no_such_path)", "/nowhere/at/all does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"exec", "--policy", c.policy}, c.flags...)
			o := n.Run(t, Ctl{UID: Alice, Env: c.env, Args: append(append(args, "--"), c.argv...)})
			list := n.Run(t, Ctl{UID: Alice, Args: []string{"--json", "events", "--denied"}}).Want(t, 0)
			lines := strings.Split(strings.TrimSpace(list.Stdout), "\n")
			var rec struct{ ID string }
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &rec); err != nil || !regexp.MustCompile(`^[0-9a-f]{8}$`).MatchString(rec.ID) {
				t.Fatalf("%v: %q", err, lines[len(lines)-1])
			}
			why := n.Run(t, Ctl{UID: Alice, Args: []string{"why", rec.ID}}).Want(t, 0).Stdout
			for _, want := range c.why {
				if !strings.Contains(why, want) {
					t.Errorf("why does not say %q:\n%s\nthe command said:\n%s", want, why, o.Stderr)
				}
			}
		})
	}
}
