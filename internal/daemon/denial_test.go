package daemon

import (
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/jail"
)

// denial is an event as the egress process sends it.
func denial(code audit.Code, change func(*wire.Event)) wire.Event {
	e := wire.Event{
		Kind: audit.KindRequest, Decision: audit.Deny, Code: code, Rule: -1, Nearest: -1, Binding: -1,
		Authority: "api.github.com:443", Method: "POST", Path: "/user/repos",
	}
	if change != nil {
		change(&e)
	}
	return e
}

// packet is an event of what the kernel refused.
func packet(protocol, to string) wire.Event {
	return denial(audit.CodePacket, func(e *wire.Event) {
		e.Kind, e.Method, e.Name, e.Authority, e.Path = audit.KindPacket, protocol, to, "", ""
	})
}

func TestARefusalInWords(t *testing.T) {
	plain := ruled(t, "GET http://a.test/**")
	withRules := testJail(t, nil).spec()
	git, _ := egress.ParseAuthority("github.com", 443)
	withGit := *withRules
	withGit.Bindings = []creds.Binding{{Type: creds.GH, Targets: []creds.Target{{Authority: git, Scheme: creds.SchemeBasic}}}}
	for _, c := range []struct {
		name      string
		spec      *jail.Spec
		event     wire.Event
		text, fix string
	}{
		{"no policy", &jail.Spec{Policy: jail.PolicyRef{Name: "offline", Fallback: true}},
			denial(audit.CodeNameDenied, func(e *wire.Event) { e.Authority, e.Name, e.Method = "", "example.com", "" }),
			`no network: no policy was given, so this ran with preset "offline"`,
			"omnijailctl exec --preset github-read -- … or: omnijailctl init"},
		{"a policy without rules", &jail.Spec{Policy: jail.PolicyRef{Name: "offline"}},
			denial(audit.CodeNameDenied, func(e *wire.Event) { e.Authority, e.Name, e.Method = "", "example.com", "" }),
			`no network: policy "offline" has no egress_rules`, "omnijailctl exec --allow 'GET,HEAD example.com/**' -- …"},
		{"no rule, but a near one", withRules, denial(audit.CodeNoRule, func(e *wire.Event) { e.Nearest = 0 }),
			`denied POST api.github.com/user/repos: no rule allows it (nearest: "GET api.github.com/**", /etc/omnijail/policies/default.yaml:4)`,
			"omnijailctl exec --allow 'POST api.github.com/user/repos' -- …"},
		{"no rule, but a near one of plain http", plain, denial(audit.CodeNoRule, func(e *wire.Event) { e.Authority, e.Nearest = "a.test:80", 0 }),
			`denied POST a.test:80/user/repos: no rule allows it (nearest: "GET http://a.test/**", )`,
			"omnijailctl exec --allow 'POST http://a.test/user/repos' -- …"},
		{"a datagram", &jail.Spec{Policy: jail.PolicyRef{Name: "offline", Fallback: true}}, packet("UDP", "a.test:443"),
			"denied UDP a.test:443: nothing but TCP and DNS leaves a jail; the kernel refused it at once", ""},
		{"a connection without sk_lookup", withRules, packet("TCP", "a.test:8443"),
			"denied TCP a.test:8443: no rule names this port; on this node, whose kernel has no sk_lookup, such connections are refused at once",
			"omnijailctl exec --allow 'GET,HEAD a.test:8443/**' -- …"},
		{"a private address", withRules, denial(audit.CodePrivate, func(e *wire.Event) {
			e.Authority, e.Address = "ghe.example.com:443", netip.MustParseAddr("10.20.1.5")
		}),
			"ghe.example.com is 10.20.1.5, a private address",
			"the operator can allow it once: egress.private in /etc/omnijail/omnijaild.yaml; or here: allow_private: [10.20.0.0/16]"},
		{"a client that trusts another CA", withRules, denial(audit.CodeTLSClient, func(e *wire.Event) { e.Method, e.Status = "", 48 }),
			"denied api.github.com:443: the client does not trust this jail's CA (its alert: unknown certificate authority)", ""},
		{"a client that gave up", withRules, denial(audit.CodeTLSClient, func(e *wire.Event) { e.Method, e.Status = "", 40 }),
			"denied api.github.com:443: the client broke the handshake off (its alert: handshake failure)", ""},
		{"a client that said nothing", withRules, denial(audit.CodeTLSClient, func(e *wire.Event) { e.Method, e.Status = "", 0 }),
			"denied api.github.com:443: the client does not trust this jail's CA", ""},
		{"an alert that is none", withRules, denial(audit.CodeTLSClient, func(e *wire.Event) { e.Method, e.Status = "", 65535 }),
			"denied api.github.com:443: the client broke the handshake off (its alert: alert(255))", ""},
		{"ssh", withRules, denial(audit.CodeSSH, func(e *wire.Event) { e.Authority, e.Method = "github.com:22", "" }),
			"ssh to github.com:22 is not carried", "git remote set-url origin https://github.com/OWNER/REPO"},
		{"ssh where git is rewritten", &withGit, denial(audit.CodeSSH, func(e *wire.Event) { e.Authority, e.Method = "github.com:22", "" }),
			"ssh to github.com:22 is not carried; this jail rewrites git@github.com: to https", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := testJail(t, nil)
			j.rule(c.spec)
			r, err := j.record(c.event)
			if err != nil {
				t.Fatal(err)
			}
			if got := sentence(r); got != c.text {
				t.Errorf("text %s\nwant %s", got, c.text)
			}
			if r.Fix != c.fix {
				t.Errorf("fix  %s\nwant %s", r.Fix, c.fix)
			}
		})
	}
}

// What a hint tells a person to type is one word to the shell, whatever the
// jail asked for; what no rule can name has no hint.
func TestS24_HintsDoNotExpand(t *testing.T) {
	for _, path := range []string{"/$(touch x)", "/`id`", "/'; id #", "/a b", "/\n* evil.com/**", "/~", `/\`, "/!x", "/*"} {
		j := testJail(t, nil)
		r, err := j.record(denial(audit.CodeNoRule, func(e *wire.Event) { e.Path = path }))
		if err != nil {
			t.Fatal(err)
		}
		if r.Fix == "" {
			continue
		}
		word := strings.TrimSuffix(strings.TrimPrefix(r.Fix, "omnijailctl exec --allow "), " -- …")
		out, err := exec.Command("bash", "-c", "printf %s "+word).Output()
		if err != nil || string(out) != "POST api.github.com"+path {
			t.Errorf("%q comes out as %q (%v)", path, out, err)
		}
	}
}
