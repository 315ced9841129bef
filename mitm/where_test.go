package mitm

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/guard"
)

// The attacks A42 to A46 and A56: a name that is allowed leads where nobody may go.
// Each ends with the lab's oracle.

// public is global unicast and routed nowhere.
const public = "3ffe::1"

// lured is a lab whose names come from a script. Rules allow every name below
// lure.test, at any port, where evil.test listens on one of the node's loopback.
func lured(t *testing.T, o labOptions, turns map[string][]string) (*lab, *nameserver) {
	t.Helper()
	o.rules = []string{"* *.lure.test:*", "* metadata.google.internal", "* metadata.goog"}
	l := newLab(t, o)
	n := newNameserver(t, turns)
	n.under(l.rig)
	return l, n
}

// visit asks for / of an authority, with the port at which evil.test listens unless
// the authority has one.
func (l *lab) visit(authority string) (*http.Response, string) {
	l.t.Helper()
	if !strings.Contains(authority, ":") {
		_, port, _ := strings.Cut(l.upstream.Hosts["evil.test:443"].String(), ":")
		authority += ":" + port
	}
	host, _, _ := strings.Cut(authority, ":")
	c := tappedConn{l.dialTLS(l.open(authority), host), l.heard}
	defer c.Close()
	return l.say(c, sendTo(authority, "GET", "/"))
}

// refused holds that a visit ends in this code, and that the answer names no address.
func (l *lab) refused(authority string, code audit.Code, addrs string) {
	l.t.Helper()
	resp, body := l.visit(authority)
	if resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(code) {
		l.t.Errorf("%s at %s: %d %s, want %s", authority, addrs, resp.StatusCode, body, code)
	}
	for _, a := range strings.Fields(addrs) {
		if _, err := netip.ParseAddr(a); err == nil && strings.Contains(body+resp.Header.Get("X-Omnijail-Reason"), a) {
			l.t.Errorf("%s: the jail is told of %s: %s", authority, a, body)
		}
	}
}

func TestA42_Rebinding(t *testing.T) {
	turns := map[string][]string{
		"second.lure.test":   {public, "127.0.0.1"}, // checked, then dialled
		"mixed.lure.test":    {"127.0.0.1 " + public},
		"last.lure.test":     {public + " 93.184.216.34 127.0.0.1"},
		"private.lure.test":  {public + " 10.0.0.1"},
		"alias.lure.test":    {"a.test 127.0.0.1"},
		"chain.lure.test":    {"a.test b.test evil.test 127.0.0.1"},
		"mapped.lure.test":   {"::ffff:127.0.0.1"},
		"nat64.lure.test":    {"64:ff9b::7f00:1"},
		"six.lure.test":      {"93.184.216.34 ::1"},
		"any.lure.test":      {"0.0.0.0"},
		"any6.lure.test":     {"::"},
		"metadata.lure.test": {public + " a.test 169.254.169.254"},
	}
	l, n := lured(t, labOptions{}, turns)
	if resp, body := l.visit("second.lure.test"); resp.StatusCode != 502 && resp.StatusCode != 504 {
		t.Errorf("the first answer leads nowhere: %d %s", resp.StatusCode, body)
	}
	l.refused("second.lure.test", audit.CodeOwnAddress, turns["second.lure.test"][1])
	if got := n.lookups("second.lure.test"); got != 2 {
		t.Errorf("%d lookups for two connections", got)
	}
	for name, script := range turns {
		code := audit.CodeOwnAddress
		switch name {
		case "second.lure.test":
			continue
		case "private.lure.test":
			code = audit.CodePrivate
		case "metadata.lure.test":
			code = audit.CodeMetadata
		}
		l.refused(name, code, script[0])
		if got := n.lookups(name); got != 1 {
			t.Errorf("%s: %d lookups for one connection", name, got)
		}
	}
}

// TestA43_SpecialAddresses leads a name into every range that is not the public
// internet, with the rule's opt-in for another one.
func TestA43_SpecialAddresses(t *testing.T) {
	turns, codes := map[string][]string{}, map[string]audit.Code{}
	for i, e := range guard.Entries(nil) {
		if e.Class == guard.Public {
			continue
		}
		name := fmt.Sprintf("n%d.lure.test", i)
		turns[name] = []string{e.Prefix.Addr().Next().Unmap().String()}
		if e.Prefix.Bits() == 128 {
			turns[name] = []string{e.Prefix.Addr().Unmap().String()}
		}
		codes[name] = refusals[guard.Judge(netip.MustParseAddr(turns[name][0]), guard.View{Own: nowhere, Exempt: nowhere, Denied: nowhere})]
	}
	rules := mustRules(t, "* *.lure.test:*")
	rules[0].AllowPrivate = []netip.Prefix{netip.MustParsePrefix("10.77.0.0/16")}
	l, _ := lured(t, labOptions{config: withRules(rules)}, turns)
	for name, script := range turns {
		if codes[name] == "" {
			t.Errorf("%s is public", script[0])
		}
		l.refused(name, codes[name], script[0])
	}
}

func nowhere(netip.Addr) bool { return false }

// everything opens what can be opened.
func everything(u *Upstream) {
	u.AllowPrivate = true
	u.Private = []PrivateExemption{{"*.lure.test", netip.MustParsePrefix("0.0.0.0/0")}, {"*.lure.test", netip.MustParsePrefix("::/0")}}
}

func TestA44_Metadata(t *testing.T) {
	turns := map[string][]string{}
	for i, e := range guard.Entries(nil) {
		if e.Class == guard.Metadata {
			turns[fmt.Sprintf("n%d.lure.test", i)] = []string{e.Prefix.Addr().Unmap().String()}
		}
	}
	l, n := lured(t, labOptions{up: everything}, turns)
	for name, script := range turns {
		l.refused(name, audit.CodeMetadata, script[0])
	}
	asked := n.lookups("")
	for _, name := range []string{"metadata.google.internal", "metadata.goog"} {
		l.refused(name+":443", audit.CodeMetadata, "")
	}
	if got := n.lookups(""); got != asked {
		t.Errorf("%d lookups of a metadata service's name", got-asked)
	}
}

// TestA45_TheNodeItself tries each address of the node with every opt-in, and one
// that came up a moment ago.
func TestA45_TheNodeItself(t *testing.T) {
	own, err := guard.NodeAddrs()
	if err != nil {
		t.Fatal(err)
	}
	const late = "late.lure.test"
	turns := map[string][]string{"new.lure.test": {"10.9.8.7"}, late: {"10.9.8.6"}}
	for i, a := range own {
		turns["n"+strings.Repeat("x", i)+".lure.test"] = []string{a.String()}
	}
	l, _ := lured(t, labOptions{up: everything}, turns)
	d := l.proxy.now().Dial
	d.own = func() ([]netip.Addr, error) {
		now, err := guard.NodeAddrs()
		return append(now, netip.MustParseAddr("10.9.8.7")), err
	}
	for name, script := range turns {
		if name != late {
			l.refused(name, audit.CodeOwnAddress, script[0])
		}
	}
	d.own = func() ([]netip.Addr, error) { return nil, http.ErrAbortHandler }
	l.refused(late, audit.CodeOwnAddress, "10.9.8.6")
}

// TestA46_ALoopThroughOurselves leads a name to the place where the jail's own
// connections are taken.
func TestA46_ALoopThroughOurselves(t *testing.T) {
	l, _ := lured(t, labOptions{up: everything}, map[string][]string{"loop.lure.test": {"127.0.0.1"}})
	_, port, _ := strings.Cut(l.addr, ":")
	before := len(l.audit.all())
	l.refused("loop.lure.test:"+port, audit.CodeOwnAddress, "127.0.0.1")
	if got := len(l.audit.all()) - before; got != 1 {
		t.Errorf("%d decisions for one request", got)
	}
}

// TestA56_NamesAreNotLookedUp holds that a name leaves the node only when a rule has
// allowed the request. How many a jail can make up under a wildcard is netns/dnsstub's.
func TestA56_NamesAreNotLookedUp(t *testing.T) {
	l, n := lured(t, labOptions{config: withRules(mustRules(t, "GET x.lure.test/ok", "GET good.test"))}, map[string][]string{"x.lure.test": {"127.0.0.1"}})
	for _, authority := range []string{"x.lure.test:443", "secret.evil-dns.test:443"} {
		if resp, _ := l.visit(authority); resp.StatusCode != 403 {
			t.Errorf("%s: %d", authority, resp.StatusCode)
		}
	}
	for _, target := range []string{"https://secret.evil-dns.test/", "//secret.evil-dns.test/"} {
		l.ask(send("GET", target))
	}
	for _, host := range []string{"secret.evil-dns.test", "good.test.secret.evil-dns.test"} {
		l.ask(sendTo(host, "GET", "/"))
	}
	if got := n.lookups(""); got != 0 {
		t.Errorf("%d lookups: %v", got, n.asked)
	}
}
