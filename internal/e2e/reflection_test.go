package e2e

import (
	"strings"
	"testing"
)

const reflectionPolicy = `
caller: [cwd, tty, timeout, env]
egress_rules: ["GET api.example.test/**"]
credential_proxy: [{type: https_bearer, target: api.example.test, source: {env: E2E_TOKEN}}]
`

// TestS19_AReflectedSecretIsMasked asks a host for what it was told: a mask, a record
// and, at the third time, the end of the network.
func TestS19_AReflectedSecretIsMasked(t *testing.T) {
	n := NewNode(t, Options{Policy: map[string]string{
		"mask": reflectionPolicy, "abort": reflectionPolicy + "on_reflection: abort\n",
	}})
	run := func(policy, script string) Output {
		return n.Run(t, Ctl{UID: Alice, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{"exec", "--policy", policy, "--", "sh", "-c", script}})
	}
	const ask = "curl -s -w '%{http_code}\\n' https://api.example.test/headers; "
	o := run("mask", ask+ask+ask+ask)
	masked := "Authorization: Bearer " + strings.Repeat("*", len(Token))
	if strings.Count(o.Stdout, masked) != 2 || strings.Contains(o.Stdout, Token) || !strings.HasSuffix(o.Stdout, "403\n") {
		t.Errorf("%s%s", o.Stdout, o.Stderr)
	}
	if o := run("abort", ask); strings.Contains(o.Stdout, "Bearer") || strings.Contains(o.Stdout, Token) {
		t.Errorf("abort: %s", o.Stdout)
	}
	events := n.Run(t, Ctl{UID: Alice, Args: []string{"events", "--json"}}).Want(t, 0).Stdout
	for _, want := range []string{`"kind":"reflection"`, `"code":"reflection"`, `"credential":"https_bearer-api.example.test"`} {
		if !strings.Contains(events, want) {
			t.Errorf("no %s in %s", want, events)
		}
	}
	if strings.Contains(events, Token) {
		t.Error("the secret is in the journal")
	}
}
