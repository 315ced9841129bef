package e2e

import (
	"strings"
	"testing"
)

const placeholderPolicy = `
caller: [cwd, tty, timeout]
egress_rules:
  - "* api.example.test:*/**"
  - "* other.test/**"
  - "* example.test/**"
  - "GET http://example.test/**"
credential_proxy:
  - {name: api, type: https_bearer, target: api.example.test/user/**, methods: [GET, POST], env: API_TOKEN, source: {env: E2E_TOKEN}}
  - {name: other, type: https_header, header: X-Api-Key, target: other.test, env: OTHER_KEY, source: {env: E2E_TOKEN}}
`

const barePolicy = `
egress_rules: ["* api.example.test/**"]
`

// unknownPlaceholder has the form of one and belongs to no jail.
var unknownPlaceholder = "oa_cred_" + strings.Repeat("A", 49)

func TestAMisplacedPlaceholderIsRefusedAndNothingDialled(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"held": placeholderPolicy, "bare": barePolicy}})
	run := func(t *testing.T, policy, script string) Output {
		t.Helper()
		return n.Run(t, Ctl{UID: Alice, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{
			"exec", "--policy", policy, "--", "bash", "-c",
			`get() { curl -s -w ' %{http_code}' "$@"; }; U=` + unknownPlaceholder + `; ` + script}})
	}
	body := "" // every refusal of a placeholder is the same to the jail, but for its id
	for _, c := range []struct{ name, script string }{
		{"another host", `get -H "Authorization: Bearer $API_TOKEN" https://example.test/`},
		{"another bound host", `get -H "X-Api-Key: $API_TOKEN" https://other.test/`},
		{"another port", `get -H "Authorization: Bearer $API_TOKEN" https://api.example.test:8443/user`},
		{"outside the path", `get -H "Authorization: Bearer $API_TOKEN" https://api.example.test/repos/a/b`},
		{"another method", `get -X DELETE -H "Authorization: Bearer $API_TOKEN" https://api.example.test/user`},
		{"OPTIONS", `get -X OPTIONS -H "Authorization: Bearer $API_TOKEN" https://api.example.test/user`},
		{"plain http", `get -H "Authorization: Bearer $API_TOKEN" http://example.test/`},
		{"another header", `get -H "X-Token: $API_TOKEN" https://api.example.test/user`},
		{"path", `get https://api.example.test/user/$API_TOKEN`},
		{"query", `get https://api.example.test/user?t=$API_TOKEN`},
		{"percent-encoded", `get https://api.example.test/user?t=${API_TOKEN/_/%5f}`},
		{"twice percent-encoded", `get https://api.example.test/user?t=${API_TOKEN/_/%255f}`},
		{"cookie", `get -b "t=$API_TOKEN" https://api.example.test/user`},
		{"inside Basic", `get -u "x:$API_TOKEN" https://api.example.test/user`},
		{"inside Basic of another host", `get -u "$API_TOKEN:" https://example.test/`},
		{"base64 in a header", `get -H "X-T: $(printf ab%s "$API_TOKEN" | base64 -w0 | tr '+/' '-_' | tr -d =)" https://api.example.test/user`},
		{"twice in its header", `get -H "Authorization: Bearer $API_TOKEN $API_TOKEN" https://api.example.test/user`},
		{"damaged", `get -H "Authorization: Bearer ${API_TOKEN%?}" https://api.example.test/user`},
		{"unknown", `get -H "Authorization: Bearer $U" https://api.example.test/user`},
		{"unknown in a query", `get https://example.test/?t=$U`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := n.Lab.Connections()
			checkPlaceholderRefusal(t, n, run(t, "held", c.script), before, &body)
		})
	}
	t.Run("in a jail without credentials", func(t *testing.T) {
		before := n.Lab.Connections()
		checkPlaceholderRefusal(t, n, run(t, "bare", `get -H "Authorization: Bearer $U" https://api.example.test/user`), before, &body)
	})
	t.Run("where it belongs", func(t *testing.T) {
		for _, script := range []string{
			`get -H "Authorization: Bearer $API_TOKEN" https://api.example.test/user`,
			`get https://api.example.test/user`,
		} {
			if o := run(t, "held", script); !strings.HasSuffix(o.Stdout, " 200") {
				t.Errorf("%s: %+v", script, o)
			}
		}
	})
	t.Run("in a body it is forwarded as it is", func(t *testing.T) {
		o := run(t, "held", `test "$(curl -sS -d "$API_TOKEN" https://example.test/echo)" = "$API_TOKEN" && echo same`)
		if o.Stdout != "same\n" {
			t.Errorf("%+v", o)
		}
	})
}

// checkPlaceholderRefusal holds a refusal to the one answer that they all have.
func checkPlaceholderRefusal(t *testing.T, n *Node, o Output, connections int, body *string) {
	t.Helper()
	text, id := o.Stdout, ""
	if _, rest, ok := strings.Cut(text, `"id":"`); ok {
		id, _, _ = strings.Cut(rest, `"`)
		text = strings.ReplaceAll(text, id, "ID")
	}
	if *body == "" {
		*body = text
	}
	if id == "" || text != *body || !strings.HasSuffix(text, " 403") || !strings.Contains(text, `"code":"placeholder"`) {
		t.Errorf("the jail was told %s\nfirst it was %s", o.Stdout, *body)
	}
	if !strings.Contains(ours(o.Stderr), "a placeholder was sent where it does not belong") {
		t.Errorf("the owner was told %s", o.Stderr)
	}
	if n.Lab.Connections() != connections {
		t.Error("the upstream was reached")
	}
}
