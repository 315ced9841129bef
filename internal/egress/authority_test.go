package egress

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
)

func TestParseAuthority(t *testing.T) {
	for in, want := range map[string]string{
		"h":                           "h:443",
		"H.Example.":                  "h.example:443",
		"h.example:8443":              "h.example:8443",
		"h_1.example:1":               "h_1.example:1",
		"xn--bcher-kva.example:65535": "xn--bcher-kva.example:65535",
		"1.2.3.4":                     "1.2.3.4:443",
		"1.2.3.4:80":                  "1.2.3.4:80",
		"[2001:DB8:0:0::1]:80":        "[2001:db8::1]:80",
		"[::1]":                       "[::1]:443",
		"[::ffff:1.2.3.4]:80":         "1.2.3.4:80",
		"1a.example":                  "1a.example:443",
		"a--b.example":                "a--b.example:443",
	} {
		a, err := ParseAuthority(in, 443)
		if err != nil || a.String() != want {
			t.Errorf("ParseAuthority(%q) = %q, %v; want %q", in, a, err, want)
		}
	}
}

// TestParseAuthorityRefuses holds the odd forms by which one destination is
// written and another reached.
func TestParseAuthorityRefuses(t *testing.T) {
	for _, in := range []string{
		"", ".", "..", ":", ":443", "h:", "h:0", "h:0443", "h:+443", "h:-1", "h:99999", "h:65536", "h:4 4", "h:443:443", "h:443 ",
		"user@h:443", "user:pw@h:443", "h/path", "h:443/path", "h?x", "h#x", "//h", "/x", "*", "*.h.example", "h,evil", "h;evil",
		" h", "h ", "h\t", "h\n", "h\x00", "h\x00.evil", "h\\evil", "%68", "h%2eevil", "bücher.example", "h。example", "ｈ",
		"h..example", ".h.example", "h.example..", "-h.example", "h-.example", "h!", "https://h", "h.example:https",
		strings.Repeat("a", 64) + ".example", strings.Repeat("abc.", 63) + "abcde",
		"0x7f000001", "0X7F.1", "h.0x", "2130706433", "127.1", "127.0.1", "0177.0.0.1", "1.2.3.4.", "1.2.3.256", "1.2.3.4.5", "h.example.1",
		"1.2.3.04", "::1", "[::1", "::1]", "[]", "[::1]x", "[::1]:", "[::1]:x", "[h]:443", "[1.2.3.4]:443",
		"[fe80::1%eth0]", "[fe80::1%25eth0]", "2001:db8::1:443", "[[::1]]", "[::1]]:443",
	} {
		if a, err := ParseAuthority(in, 443); err == nil {
			t.Errorf("ParseAuthority(%q) = %q, want an error", in, a)
		}
	}
	if _, err := ParseAuthority("h", 0); err == nil {
		t.Error("a missing port without a default is accepted")
	}
}

func TestAuthorityFrom(t *testing.T) {
	for host, want := range map[string]string{
		"H.example.": "h.example:1", "1.2.3.4": "1.2.3.4:1", "2001:db8::1": "[2001:db8::1]:1",
		"[::1]": "", "127.1": "", "h:1": "", "": "", "fe80::1%eth0": "",
	} {
		a, err := AuthorityFrom(host, 1)
		if a.String() != want || (err != nil) != (want == "") {
			t.Errorf("AuthorityFrom(%q, 1) = %q, %v; want %q", host, a, err, want)
		}
	}
	if a, err := AuthorityFrom("h", 0); err == nil {
		t.Errorf("port 0 gives %q", a)
	}
	if a, err := AuthorityOf(netip.MustParseAddrPort("[::ffff:1.2.3.4]:80")); err != nil || a.String() != "1.2.3.4:80" {
		t.Errorf("AuthorityOf a mapped address = %q, %v", a, err)
	}
	for _, ap := range []netip.AddrPort{{}, netip.MustParseAddrPort("1.2.3.4:0"), netip.MustParseAddrPort("[fe80::1%1]:80")} {
		if a, err := AuthorityOf(ap); err == nil {
			t.Errorf("AuthorityOf(%v) = %q, want an error", ap, a)
		}
	}
}

func TestZeroAuthority(t *testing.T) {
	var zero Authority
	if !zero.IsZero() || zero.String() != "" || zero.Host() != "" {
		t.Errorf("the zero authority reads %q", zero)
	}
	if err := json.Unmarshal([]byte(`""`), &zero); err == nil {
		t.Error("the empty string decodes")
	}
	rules := compile(t, "* *.example:*")
	if v := rules.Decide(Request{Scheme: HTTPS, Method: "GET", Path: "/"}); v.Allow {
		t.Error("the zero authority is allowed")
	}
}

func FuzzParseAuthority(f *testing.F) {
	for _, s := range []string{"h:443", "[::1]:80", "1.2.3.4:1", "H.Example.:80", "0x7f.1:1", "[::ffff:1.2.3.4]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAuthority(s, 443)
		if err != nil {
			if a != (Authority{}) {
				t.Errorf("%q: an error and an authority %q", s, a)
			}
			return
		}
		text, _ := a.MarshalText()
		var again Authority
		if err := again.UnmarshalText(text); err != nil || again != a {
			t.Errorf("%q: %q reads back as %q, %v", s, a, again, err)
		}
		if from, err := AuthorityFrom(a.Host(), a.Port()); err != nil || from != a {
			t.Errorf("%q: AuthorityFrom gives %q, %v", s, from, err)
		}
		if strings.ContainsAny(a.Host(), "/@%\\ \x00?#*") || a.Host() != strings.ToLower(a.Host()) {
			t.Errorf("%q: host %q", s, a.Host())
		}
	})
}
