package e2e

import (
	"io"
	"net/http"
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

// TestA62_AMintedTokenIsKeptFromTheJail where its policy says so.
func TestA62_AMintedTokenIsKeptFromTheJail(t *testing.T) {
	t.Parallel()
	const minted = "gho_16C7e42F292c6912E7710c838347Ae178B4a"
	n := NewNode(t, Options{Policy: map[string]string{
		"pass": reflectionPolicy, "mask": reflectionPolicy + "on_minted: mask\n", "abort": reflectionPolicy + "on_minted: abort\n",
	}})
	n.Lab.Serve("api.example.test", n.Lab.Private(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"access_token":"`+minted+`"}`)
	})))
	const ask = "curl -s -w ' %{http_code}' https://api.example.test/login/oauth/access_token"
	for policy, want := range map[string]string{
		"pass": `{"access_token":"` + minted + `"} 200`, "mask": `{"access_token":"` + strings.Repeat("*", len(minted)) + `"} 200`, "abort": "502",
	} {
		o := n.Run(t, Ctl{UID: Alice, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{"exec", "--policy", policy, "--", "sh", "-c", ask}}).Want(t, 0)
		if !strings.HasSuffix(o.Stdout, want) || policy != "pass" && strings.Contains(o.Stdout, minted) {
			t.Errorf("%s: %s%s", policy, o.Stdout, o.Stderr)
		}
		if told := strings.Contains(o.Stderr, "on_minted: abort"); told != (policy == "abort") {
			t.Errorf("%s: %s", policy, o.Stderr)
		}
	}
	if events := n.Run(t, Ctl{UID: Alice, Args: []string{"events", "--json"}}).Want(t, 0).Stdout; strings.Count(events, `"code":"minted_token"`) != 3 || strings.Contains(events, minted) {
		t.Errorf("%s", events)
	}
}
