package e2e

import (
	"strings"
	"testing"
)

const (
	withoutToken = `egress_rules: ["GET api.example.test/**"]`
	withToken    = withoutToken + `
credential_proxy: [{name: late, type: https_bearer, target: api.example.test, env: LATE_TOKEN, source: {env: E2E_TOKEN}}]`
)

// A policy that is applied may take a value from a variable: the client hands it over
// with the change, as it does for a jail that is made. It goes where values go, and
// nowhere else.
func TestAnAppliedPolicyTakesAVariable(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	n.policies(t, map[string]string{"without": withoutToken, "with": withToken})
	id := n.create(t, "--policy", "without")
	apply := func(uid uint32, env ...string) Output {
		return n.Run(t, Ctl{UID: uid, Env: env, Args: []string{"policy", "apply", "--jail", id, n.Home(t, Alice) + "/.config/omnijail/policies/with.yaml", "--yes"}})
	}
	unchanged := func(o Output, words string) {
		t.Helper()
		if o.Exit == 0 || !strings.Contains(o.Stderr, words) || n.inspect(t, id).Policy == "with" {
			t.Errorf("exit %d, in force %q: %s", o.Exit, n.inspect(t, id).Policy, o.Stderr)
		}
	}
	const ask = `curl -sSf -o /dev/null https://api.example.test/user && echo "$LATE_TOKEN"`
	unchanged(apply(Alice), "handed none over")
	unchanged(apply(0, "E2E_TOKEN="+Token), "only the owner")
	n.in(t, id, ask).Want(t, 22) // the upstream wants to be told who asks

	apply(Alice, "E2E_TOKEN="+Token).Want(t, 0)
	if o := n.in(t, id, ask).Want(t, 0); !strings.HasPrefix(o.Stdout, "oa_cred_") {
		t.Errorf("the next command has %q", o.Stdout)
	}
	apply(Alice).Want(t, 0) // the same again: the value stays
	n.in(t, id, ask).Want(t, 0)
	if names := found(append(memory(t, n.PID()), n.Log()...), Token); names != nil {
		t.Errorf("the daemon has it: %v", names)
	}
	if found(memory(t, egressOf(t, n)[0]), Token) == nil {
		t.Error("the search does not find it where it is used")
	}
}
