package config

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

// TestA44_NoNameLeadsToMetadata by the operator's own answer either.
func TestA44_NoNameLeadsToMetadata(t *testing.T) {
	for _, at := range []string{"169.254.169.254:80", "[fd00:ec2::254]:80", "[::ffff:169.254.169.254]:80", "[64:ff9b::a9fe:a9fe]:80"} {
		if _, err := load(t, "upstream: {hosts: {x.example: '"+at+"'}}\n"); err == nil || !strings.Contains(err.Error(), "metadata") {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestS21_OperatorsAnswersAreForThoseTheyName(t *testing.T) {
	c, err := load(t, `upstream:
  hosts:
    all.example: 10.0.0.1:443
    All2.example.:8443: "[fd00::1]:9"
    users.example: {address: "10.0.0.2:443", users: [alice, "1002"]}
    policy.example: {address: "10.0.0.3:443", policies: [corp]}
    both.example: {address: "10.0.0.4:443", users: [alice], policies: [corp]}
`)
	if err != nil {
		t.Fatal(err)
	}
	everyone := []string{"all.example:443", "all2.example:8443"}
	for name, tt := range map[string]struct {
		uid          uint32
		user, policy string
		more         []string
	}{
		"nobody in particular":        {1, "bob", "default", nil},
		"a user by name":              {1001, "alice", "default", []string{"users.example:443"}},
		"a user by id":                {1002, "bob", "default", []string{"users.example:443"}},
		"a user without an entry":     {1002, "", "default", []string{"users.example:443"}},
		"a policy":                    {1, "bob", "corp", []string{"policy.example:443"}},
		"user and policy":             {1001, "alice", "corp", []string{"users.example:443", "policy.example:443", "both.example:443"}},
		"the caller's own document":   {1001, "alice", "", []string{"users.example:443"}},
		"another's id in front of it": {10021, "al", "corps", nil},
	} {
		got := c.Upstream.For(tt.uid, tt.user, tt.policy)
		want := map[string]bool{}
		for _, n := range append(everyone, tt.more...) {
			want[n] = true
		}
		have := map[string]bool{}
		for n := range got {
			have[n] = true
		}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s: %v, want %v", name, have, want)
		}
	}
	if got := c.Upstream.For(1, "", "")["all2.example:8443"]; got != netip.MustParseAddrPort("[fd00::1]:9") {
		t.Errorf("all2.example:8443 leads to %v", got)
	}
}
