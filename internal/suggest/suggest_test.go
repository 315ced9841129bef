package suggest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/policy"
)

// refused is a denied request as the journal has it; "GET host/path".
func refused(line string) audit.Record {
	method, rest, _ := strings.Cut(line, " ")
	host, path, _ := strings.Cut(rest, "/")
	return audit.Record{Kind: audit.KindRequest, Method: method, Authority: host, Path: "/" + path, Decision: audit.Deny, Code: string(audit.CodeNoRule)}
}

func all(lines ...string) (recs []audit.Record) {
	for _, l := range lines {
		recs = append(recs, refused(l))
	}
	return recs
}

func TestRulesAreFewAndNarrow(t *testing.T) {
	var pulls, sparse, packages []string
	for i := range 20 {
		for j := range 20 {
			pulls = append(pulls, fmt.Sprintf("GET api.test/repos/me/project%c/pulls/%d", 'a'+i, j))
		}
		sparse = append(sparse, fmt.Sprintf("GET api.test/repos/me/project%c/pulls/%d", 'a'+i, i*i))
		packages = append(packages, fmt.Sprintf("GET cdn.test/simple/%c/%s/file%d", 'a'+i, strings.Repeat("x", i+1), i))
	}
	for name, c := range map[string]struct{ asked, want []string }{
		"one":              {[]string{"GET api.test/user"}, []string{"GET api.test/user"}},
		"two are no form":  {[]string{"GET api.test/repos/a", "GET api.test/repos/b"}, []string{"GET api.test/repos/a", "GET api.test/repos/b"}},
		"three are":        {[]string{"GET api.test/repos/a", "GET api.test/repos/b", "GET api.test/repos/c"}, []string{"GET api.test/repos/*"}},
		"the first stays":  {[]string{"GET api.test/a", "GET api.test/b", "GET api.test/c"}, []string{"GET api.test/a", "GET api.test/b", "GET api.test/c"}},
		"four hundred":     {pulls, []string{"GET api.test/repos/me/*/pulls/*"}},
		"and twenty":       {sparse, []string{"GET api.test/repos/me/*/pulls/*"}},
		"many to read":     {packages, []string{"GET cdn.test/simple/**"}},
		"methods together": {[]string{"GET api.test/x", "HEAD api.test/x"}, []string{"GET,HEAD api.test/x"}},
		"methods apart":    {[]string{"GET api.test/x", "POST api.test/y"}, []string{"GET api.test/x", "POST api.test/y"}},
		"another port":     {[]string{"GET api.test:8443/x"}, []string{"GET api.test:8443/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := From(all(c.asked...))
			got, want := slices.Sorted(slices.Values(s.Rules)), slices.Sorted(slices.Values(c.want))
			if !slices.Equal(got, want) || len(s.LeftOut) > 0 {
				t.Errorf("%q, left out %q", got, s.LeftOut)
			}
			text, err := s.YAML()
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range c.asked {
				method, url, _ := strings.Cut(line, " ")
				if a := judge(t, s.Rules, method, "https://"+url); !a {
					t.Errorf("%s is refused still by:\n%s", line, text)
				}
			}
		})
	}
}

// judge asks the decision function itself.
func judge(t *testing.T, rules []string, method, url string) bool {
	t.Helper()
	var parsed []policy.Rule
	for _, r := range rules {
		rule, err := egress.ParseRule(r)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, policy.Rule{Rule: rule})
	}
	a, err := policy.TestURL(&policy.Document{Rules: parsed}, method, url)
	if err != nil {
		t.Fatal(err)
	}
	return a.Allowed
}

func TestS24_AHostFirstSeenInARefusedWriteIsNotProposed(t *testing.T) {
	s := From(all("POST drop.evil.test/collect", "PUT drop.evil.test/collect"))
	if len(s.Rules) > 0 || len(s.LeftOut) != 2 {
		t.Errorf("%q, left out %q", s.Rules, s.LeftOut)
	}
	// A wildcard of the policy's does not name the host either.
	wild := refused("POST drop.evil.test/collect")
	wild.Rule = "GET *.evil.test/**"
	if s := From([]audit.Record{wild}); len(s.Rules) > 0 {
		t.Errorf("%q", s.Rules)
	}
	// One that was read before, or that the policy names, is known.
	named := refused("POST api.test/x")
	named.Rule = "GET api.test/**"
	for _, recs := range [][]audit.Record{all("GET api.test/x", "POST api.test/x"), {named}} {
		if s := From(recs); !slices.Contains(s.Rules, "POST api.test/x") && !slices.Contains(s.Rules, "GET,POST api.test/x") {
			t.Errorf("%q, left out %q", s.Rules, s.LeftOut)
		}
	}
	// Reading it afterwards does not make up for the write that came first.
	s = From(all("POST drop.evil.test/a", "GET drop.evil.test/b"))
	if slices.ContainsFunc(s.Rules, func(r string) bool { return strings.Contains(r, "POST") }) {
		t.Errorf("%q", s.Rules)
	}
}

func TestNamesThatWereRefusedMayBeRead(t *testing.T) {
	name := audit.Record{Kind: audit.KindDNS, Authority: "new.test", Decision: audit.Deny, Code: string(audit.CodeNameDenied)}
	s := From([]audit.Record{name, name})
	if !slices.Equal(s.Rules, []string{"GET,HEAD new.test/**"}) || len(s.Why) != 1 {
		t.Errorf("%q, %q", s.Rules, s.Why)
	}
}

func TestWhatNoRuleMendsIsNamed(t *testing.T) {
	denied, private := refused("GET api.test/secret"), refused("GET corp.test/")
	denied.Code, denied.Rule = string(audit.CodeDenyRule), "!GET api.test/secret"
	private.Code = string(audit.CodePrivate)
	s := From([]audit.Record{denied, private})
	if len(s.Rules) > 0 || len(s.LeftOut) != 2 {
		t.Errorf("%q, left out %q", s.Rules, s.LeftOut)
	}
	if text, err := s.YAML(); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func file(code audit.Code, grant string) audit.Record {
	return audit.Record{Kind: audit.KindDenial, Decision: audit.Deny, Code: string(code), Path: grant, Grant: grant}
}

func TestFilesBecomePaths(t *testing.T) {
	s := From([]audit.Record{
		file(audit.CodeFileRead, "/srv/data/x"), file(audit.CodeFileRead, "/home/a/out/y"), file(audit.CodeFileWrite, "/home/a/out"),
		file(audit.CodeFileRead, "/opt/lib/v1/a"), file(audit.CodeFileRead, "/opt/lib/v1/b"), file(audit.CodeFileRead, "/opt/lib/v1/c"), file(audit.CodeFileRead, "/opt/lib/v1/d"),
		{Kind: audit.KindDenial, Decision: audit.Deny, Code: string(audit.CodeFileRead), Path: "/home/a/.netrc", Reason: "it holds credentials"},
	})
	if !slices.Equal(s.Read, []string{"/opt/lib/v1", "/srv/data/x"}) || !slices.Equal(s.Write, []string{"/home/a/out"}) {
		t.Errorf("read %q, write %q", s.Read, s.Write)
	}
	if !slices.Equal(s.LeftOut, []string{"/home/a/.netrc: it holds credentials"}) {
		t.Errorf("left out %q", s.LeftOut)
	}
}

// A jail that looks for a few harmless files beside credentials is not given the
// directory of both.
func TestS24_NoDirectoryOfCredentialsIsProposed(t *testing.T) {
	var recs []audit.Record
	for _, dir := range []string{"/home/a/.config", "/home/a/.local", "/srv/app/conf"} {
		for _, n := range []string{"1", "2", "3", "4", "5"} {
			recs = append(recs, file(audit.CodeFileRead, dir+"/"+n), file(audit.CodeFileWrite, dir+"/w"+n))
		}
	}
	recs = append(recs, audit.Record{Kind: audit.KindDenial, Decision: audit.Deny, Code: string(audit.CodeFileRead), Path: "/srv/app/conf/secret.key", Reason: "it holds credentials"})
	s := From(recs)
	for _, p := range append(s.Read, s.Write...) {
		if slices.Contains([]string{"/home/a/.config", "/home/a/.local", "/srv/app/conf"}, p) {
			t.Errorf("proposed: %s", p)
		}
	}
	if len(s.Read) != 15 || len(s.Write) != 15 {
		t.Errorf("read %q, write %q", s.Read, s.Write)
	}
}

// Whatever a jail asked for, the lines read back as the entries that were meant,
// and no rule allows a method or a host that was not asked for.
func FuzzFrom(f *testing.F) {
	f.Add("GET", "api.test", "/repos/a\n- \"* evil.test/**\"", "/x")
	f.Add("POST", "a.test:1", "/*/**", "~/x: {y}")
	f.Add("get", "[::1]", "/%2e%2e/", "/a\"]\nweaken: [ptrace]")
	f.Fuzz(func(t *testing.T, method, host, path, file string) {
		recs := all("GET known.test/a")
		for _, m := range []string{"GET", method} {
			recs = append(recs, audit.Record{Kind: audit.KindRequest, Method: m, Authority: audit.Escape(host), Path: audit.Escape(path), Decision: audit.Deny, Code: string(audit.CodeNoRule)})
		}
		recs = append(recs, audit.Record{Kind: audit.KindDenial, Code: string(audit.CodeFileRead), Decision: audit.Deny, Grant: audit.Escape(file)})
		s := From(recs)
		if _, err := s.YAML(); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		for _, text := range s.Rules {
			r, err := egress.ParseRule(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			at, err := egress.ParseAuthority(audit.Escape(host), 443)
			if r.Deny || r.Methods == nil || r.Host != "known.test" && (err != nil || r.Host != at.Host() || r.Port != at.Port()) {
				t.Fatalf("%q from %q", text, host)
			}
			for _, m := range r.Methods {
				if m != "GET" && m != method {
					t.Fatalf("%q from %q", text, method)
				}
			}
		}
	})
}
