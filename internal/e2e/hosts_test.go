package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// An entry of upstream.hosts opens a private address to those that it names and
// to nobody else, and for exactly its port.
func TestS21_UpstreamHostsAreForThoseThatTheyName(t *testing.T) {
	const rules = "caller: [cwd]\negress_rules: [\"GET api.example.test/**\", \"GET api.example.test:8443/**\", \"GET git.example.test/**\", \"GET other.test/**\"]\n"
	n := NewNode(t, Options{Policy: map[string]string{"corp": rules, "other": rules}})
	address := n.Lab.HTTPS().String()
	n.reload(t, map[string]any{"upstream": map[string]any{
		"ca_files": []string{n.Dir + "/ca.pem"},
		"dns":      "127.0.0.1:9", // nothing: a name without an entry is nowhere
		"hosts": map[string]any{
			"api.example.test": map[string]any{"address": address, "users": []string{fmt.Sprint(Alice)}},
			"git.example.test": map[string]any{"address": address, "policies": []string{"corp"}},
			"other.test":       address,
		},
	}})
	own, err := json.Marshal(map[string]any{"name": "corp", "egress_rules": []string{"GET git.example.test/**"}})
	if err != nil {
		t.Fatal(err)
	}
	named := n.Workspace(t, Alice, map[string]string{"corp.yaml": string(own)})
	for _, c := range []struct {
		uid         uint32
		policy, url string
		arrives     bool
	}{
		{Alice, "corp", "https://api.example.test/repos/o/r", true},
		{Bob, "corp", "https://api.example.test/repos/o/r", false},
		{Alice, "corp", "https://api.example.test:8443/repos/o/r", false},
		{Bob, "corp", "https://git.example.test/", true},
		{Bob, "other", "https://git.example.test/", false},
		{Alice, "other", "https://git.example.test/", false},
		{Alice, named + "/corp.yaml", "https://git.example.test/", false}, // a name that anybody can give
		{Bob, "other", "https://other.test/", true},
	} {
		n.Lab.Forget()
		before := n.Lab.Connections()
		o := n.Run(t, Ctl{UID: c.uid, Args: []string{"exec", "--policy", c.policy, "--", "curl", "-sS", "--max-time", "20", c.url}})
		if arrived := len(n.Lab.Seen()) > 0; arrived != c.arrives || !c.arrives && n.Lab.Connections() != before {
			t.Errorf("uid %d, policy %s, %s: arrived %v: %s%s", c.uid, c.policy, c.url, arrived, o.Stdout, strings.TrimSpace(o.Stderr))
		}
	}
}
