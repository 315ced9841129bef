package selftest

import "fmt"

// Policy is the policy of the suite's own jails: no file but the workspace, three
// names that exist nowhere, and a credential for one of them. A node's operator
// installs it, or a policy that has these rules too, to test with a root-owned
// one. upstream is a name that answers, or empty.
func Policy(upstream string) string {
	text := fmt.Sprintf(`description: the jails of omnijailctl selftest
egress_rules:
  - "GET,HEAD %[1]s/open/**"
  - "!* %[1]s/open/denied/**"
  - "* %[2]s"
  - "* %[3]s"
`, allowedName, otherName, boundName)
	if upstream != "" {
		text += fmt.Sprintf("  - \"GET,HEAD %s/open/**\"\n", upstream)
	}
	return text + fmt.Sprintf(`credential_proxy:
  - name: selftest
    type: https_bearer
    target: %s/in/**
    env: %s
    foreign: deny
    optional: true
    source: {env: %s}
`, boundName, tokenEnv, tokenSource)
}
