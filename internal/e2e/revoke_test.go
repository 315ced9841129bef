package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// reload has the daemon read its configuration again and waits until it has.
func (n *Node) reload(t testing.TB, config map[string]any) {
	t.Helper()
	n.configure(t, Options{Config: config})
	before := strings.Count(n.Log(), "reload")
	if err := n.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for strings.Count(n.Log(), "reload") == before {
		select {
		case <-n.exited:
			t.Fatalf("the daemon ended:\n%s", n.Log())
		default:
		}
	}
}

// accessOf is a configuration whose only entry is one for the socket's group.
func accessOf(entry map[string]any) map[string]any {
	whole := map[string]any{"groups": []string{fmt.Sprint(socketGID)}, "policies": []string{"own", "*"}, "sources": []string{"env", "file", "command"}, "weaken": []string{"ptrace"}}
	for k, v := range entry {
		whole[k] = v
	}
	return map[string]any{"access": []map[string]any{whole}}
}

const revocablePolicy = `
caller: [cwd]
weaken: [ptrace]
egress_rules: ["GET x.test/**"]
credential_proxy: [{type: https_bearer, target: x.test, optional: true, source: {command: [/bin/true]}}]
`

// Each way of tightening ends the jail that it no longer allows, with the reason.
func TestS31_TighteningEndsLiveJails(t *testing.T) {
	wide := accessOf(nil)
	n := NewNode(t, Options{NoLab: true, Config: wide, Policy: map[string]string{"held": revocablePolicy}})
	for _, c := range []struct {
		name, reason string
		config       map[string]any
		policy       string
	}{
		{"access is for somebody else", "withdrawn", accessOf(map[string]any{"groups": []string{"2999"}}), ""},
		{"there is no access at all", "withdrawn", map[string]any{"access": []map[string]any{}}, ""},
		{"an earlier entry decides", "withdrawn", map[string]any{"access": []map[string]any{{"users": []string{"2001"}, "policies": []string{"other"}}, wide["access"].([]map[string]any)[0]}}, ""},
		{"the policy is not listed", "withdrawn", accessOf(map[string]any{"policies": []string{"own", "offline"}}), ""},
		{"the weakening is not granted", "withdrawn", accessOf(map[string]any{"weaken": []string{}}), ""},
		{"the kind of source is not granted", "withdrawn", accessOf(map[string]any{"sources": []string{"env"}}), ""},
		{"the policy is narrower", "changed", wide, "caller: [cwd]\n"},
		{"the policy is gone", "changed", wide, "-"},
		{"the policy is broken", "changed", wide, "egress_rules: {"},
		{"the policy is alices", "changed", wide, "alice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := n.write(t, "policies/held.yaml", revocablePolicy)
			if err := os.Chown(file, 0, 0); err != nil {
				t.Fatal(err)
			}
			n.reload(t, wide)
			r := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--policy", "held", "--", "sh", "-c", "echo runs; read x"}})
			r.says(t, "runs")
			switch c.policy {
			case "":
			case "-":
				os.Remove(file)
			case "alice":
				os.Chown(file, Alice, Alice)
			default:
				n.write(t, "policies/held.yaml", c.policy)
			}
			n.reload(t, c.config)
			r.finish(t).WantReason(t, c.reason)
			if a := ask(t, n, 0, "GET", "/v1/jails", ""); strings.TrimSpace(a.body) != "[]" {
				t.Errorf("jails then: %v", a)
			}
		})
	}
}

// What the operator's configuration opened for a jail's own rules, and does not any
// more, ends it; what its rules never led to does not.
func TestS31_ANarrowerWayOutEndsLiveJails(t *testing.T) {
	t.Parallel()
	const rules = "egress_rules: [\"GET x.test/**\", \"GET *.corp.test/**\"]\n"
	private := func(host string) map[string]any {
		return map[string]any{"private": []map[string]string{{"host": host, "cidr": "10.0.0.0/8"}}}
	}
	hosts := func(at ...string) map[string]any {
		return map[string]any{"hosts": map[string]string{"x.test": at[0], "y.test": at[1]}}
	}
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"held": "caller: [cwd]\n" + rules}})
	for _, c := range []struct {
		name, reason string // none where the jail goes on
		was, is      map[string]any
	}{
		{"a name leads elsewhere", "x.test", map[string]any{"upstream": hosts("10.1.1.1:443", "10.1.1.2:443")}, map[string]any{"upstream": hosts("10.1.1.3:443", "10.1.1.2:443")}},
		{"a name is nobody's any more", "x.test", map[string]any{"upstream": hosts("10.1.1.1:443", "10.1.1.2:443")}, map[string]any{"upstream": map[string]any{}}},
		{"another name leads elsewhere", "", map[string]any{"upstream": hosts("10.1.1.1:443", "10.1.1.2:443")}, map[string]any{"upstream": hosts("10.1.1.1:443", "10.1.1.3:443")}},
		{"private addresses are closed", "egress.private", map[string]any{"egress": private("git.corp.test")}, map[string]any{"egress": private("other.test")}},
		{"of names below", "egress.private", map[string]any{"egress": private("*.test")}, map[string]any{}},
		{"of others", "", map[string]any{"egress": private("*.other.test")}, map[string]any{}},
		{"a root goes", "not believed", map[string]any{"upstream": map[string]any{"ca_files": []string{"/etc/ssl/certs/ca-certificates.crt"}}}, map[string]any{}},
		{"a proxy is to be used", "proxy", map[string]any{}, map[string]any{"upstream": map[string]any{"proxy": "10.1.1.9:3128"}}},
		{"more is open", "", map[string]any{}, map[string]any{"egress": private("*.test")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n.reload(t, c.was)
			r := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--policy", "held", "--", "sh", "-c", "echo runs; read x; exit 7"}})
			r.says(t, "runs")
			n.reload(t, c.is)
			if c.reason != "" {
				r.finish(t).WantReason(t, c.reason)
				return
			}
			r.stdin.Close()
			r.finish(t).Want(t, 7)
		})
	}
}

// What is still allowed goes on, a user's own policy is not read again, and a
// configuration that does not hold changes nothing.
func TestS31_WhatIsStillAllowedGoesOn(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"both": "caller: [cwd, write]\n"}})
	file := filepath.Join(n.Workspace(t, Alice, map[string]string{"p.yaml": "egress_rules: []\n"}), "p.yaml")
	r := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--policy", file, "--", "sh", "-c", "echo runs; read x; exit 7"}})
	r.says(t, "runs")
	if err := os.WriteFile(file, []byte("weaken: [ptrace]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	n.reload(t, nil)
	n.reload(t, map[string]any{"no such key": 1})
	n.reload(t, map[string]any{"access": "nobody"})
	n.Exec(t, "--policy", "both", "--", "true").Want(t, 0)
	r.stdin.Close()
	r.finish(t).Want(t, 7)
}
