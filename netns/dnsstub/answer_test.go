package dnsstub

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// stub returns a configuration that allows the names given, those under
// *.wild.example by a wildcard, and the list of what was denied.
func stub(listed ...string) (*Config, *[]string) {
	var denied []string
	isListed := func(host string) bool { return slices.Contains(listed, host) }
	return &Config{
		Allowed: func(host string) bool { return isListed(host) || strings.HasSuffix(host, ".wild.example") },
		Listed:  isListed,
		Names:   NewNames(),
		Denied:  func(name, qtype string) { denied = append(denied, name+" "+qtype) },
	}, &denied
}

// ask builds a query as a resolver would.
func ask(t testing.TB, name string, qtype dnsmessage.Type, change func(*dnsmessage.Message)) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header: dnsmessage.Header{ID: 0x1234, RecursionDesired: true},
		Questions: []dnsmessage.Question{{
			Name: dnsmessage.MustNewName(name), Type: qtype, Class: dnsmessage.ClassINET,
		}},
	}
	if change != nil {
		change(&m)
	}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read parses a reply and renders it in one line.
func read(t testing.TB, reply []byte) (dnsmessage.Message, string) {
	t.Helper()
	if reply == nil {
		return dnsmessage.Message{}, "silence"
	}
	var m dnsmessage.Message
	if err := m.Unpack(reply); err != nil {
		t.Fatalf("reply does not parse: %v", err)
	}
	line := strings.TrimPrefix(m.RCode.String(), "RCode")
	for _, r := range m.Answers {
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			line += fmt.Sprintf(" %d.%d.%d.%d", body.A[0], body.A[1], body.A[2], body.A[3])
		case *dnsmessage.AAAAResource:
			line += fmt.Sprintf(" %x", body.AAAA)
		case *dnsmessage.PTRResource:
			line += " " + body.PTR.String()
		default:
			line += fmt.Sprintf(" %T", body)
		}
	}
	return m, line
}

func TestAnswers(t *testing.T) {
	const httpsType, svcbType, anyType = 65, 64, 255
	c, denied := stub("api.github.com", "pypi.org")
	for _, tc := range []struct {
		name   string
		qtype  dnsmessage.Type
		want   string
		denied string
	}{
		{"api.github.com.", dnsmessage.TypeA, "Success 198.18.1.0", ""},
		{"API.GitHub.com.", dnsmessage.TypeA, "Success 198.18.1.0", ""},
		{"api.github.com.", dnsmessage.TypeAAAA, "Success fd6f6d6e696a00000000000000000100", ""},
		{"pypi.org.", dnsmessage.TypeAAAA, "Success fd6f6d6e696a00000000000000000101", ""},
		{"a.b.wild.example.", dnsmessage.TypeA, "Success 198.18.1.2", ""},
		{"api.github.com.", httpsType, "Success", ""},
		{"api.github.com.", svcbType, "Success", ""},
		{"api.github.com.", dnsmessage.TypeMX, "Success", ""},
		{"api.github.com.", dnsmessage.TypeTXT, "Success", ""},
		{"api.github.com.", dnsmessage.TypeCNAME, "Success", ""},
		{"api.github.com.", dnsmessage.TypePTR, "Success", ""},
		{"api.github.com.", anyType, "Success", ""},
		{"example.com.", dnsmessage.TypeA, "NameError", "example.com A"},
		{"example.com.", httpsType, "NameError", "example.com HTTPS"},
		{"github.com.", dnsmessage.TypeA, "NameError", "github.com A"},
		{"c2VjcmV0.api.github.com.", dnsmessage.TypeA, "NameError", "c2VjcmV0.api.github.com A"},
		{"_https._tcp.api.github.com.", dnsmessage.TypeSRV, "Success", ""},
		{"_8443._https.api.github.com.", httpsType, "Success", ""},
		{"_grpc_config.api.github.com.", dnsmessage.TypeTXT, "Success", ""},
		{"_grpc_config.example.com.", dnsmessage.TypeTXT, "NameError", "_grpc_config.example.com TXT"},
		{"_grpc_config.api.github.com.", dnsmessage.TypeA, "NameError", "_grpc_config.api.github.com A"},
		{"_c2VjcmV0.api.github.com.", dnsmessage.TypeTXT, "NameError", "_c2VjcmV0.api.github.com TXT"},
		{"_https._tcp.example.com.", dnsmessage.TypeSRV, "NameError", "_https._tcp.example.com SRV"},
		{"_tcp.api.github.com.", dnsmessage.TypeSRV, "NameError", "_tcp.api.github.com SRV"},
		{"c2VjcmV0._tcp.api.github.com.", dnsmessage.TypeSRV, "NameError", "c2VjcmV0._tcp.api.github.com SRV"},
		{"_https._tcp.api.github.com.", dnsmessage.TypeA, "NameError", "_https._tcp.api.github.com A"},
		{"_https._tcp.", dnsmessage.TypeSRV, "NameError", "_https._tcp SRV"},
		{"com.", dnsmessage.TypeNS, "NameError", "com NS"},
		{".", dnsmessage.TypeNS, "NameError", " NS"},
		{"10.0.0.1.", dnsmessage.TypeA, "NameError", "10.0.0.1 A"},
		{"0.1.18.198.in-addr.arpa.", dnsmessage.TypePTR, "Success api.github.com.", ""},
		{"0.1.18.198.IN-ADDR.arpa.", dnsmessage.TypePTR, "Success api.github.com.", ""},
		{reverse6("fd6f6d6e696a00000000000000000101"), dnsmessage.TypePTR, "Success pypi.org.", ""},
		{"200.1.18.198.in-addr.arpa.", dnsmessage.TypePTR, "NameError", "200.1.18.198.in-addr.arpa PTR"},
		{"1.0.18.198.in-addr.arpa.", dnsmessage.TypePTR, "NameError", "1.0.18.198.in-addr.arpa PTR"},
		{"8.8.8.8.in-addr.arpa.", dnsmessage.TypePTR, "NameError", "8.8.8.8.in-addr.arpa PTR"},
	} {
		*denied = nil
		m, got := read(t, c.answer(ask(t, tc.name, tc.qtype, nil)))
		if got != tc.want {
			t.Errorf("%s %v: %q, want %q", tc.name, tc.qtype, got, tc.want)
		}
		if told := strings.Join(*denied, ","); told != tc.denied {
			t.Errorf("%s %v: denied %q, want %q", tc.name, tc.qtype, told, tc.denied)
		}
		if m.ID != 0x1234 || !m.Response || !m.Authoritative || !m.RecursionAvailable || !m.RecursionDesired {
			t.Errorf("%s %v: header %+v", tc.name, tc.qtype, m.Header)
		}
		if q := m.Questions[0]; q.Name.String() != tc.name || q.Type != tc.qtype {
			t.Errorf("%s %v: the question came back as %v", tc.name, tc.qtype, q)
		}
	}
}

func reverse6(hex string) string {
	var b strings.Builder
	for i := len(hex) - 1; i >= 0; i-- {
		b.WriteByte(hex[i])
		b.WriteByte('.')
	}
	return b.String() + "ip6.arpa."
}

func TestMalformedQueries(t *testing.T) {
	c, denied := stub("api.github.com")
	good := ask(t, "api.github.com.", dnsmessage.TypeA, nil)
	for _, tc := range []struct {
		what string
		msg  []byte
		want string
	}{
		{"nothing", nil, "silence"},
		{"half a header", good[:6], "silence"},
		{"a response", ask(t, "api.github.com.", dnsmessage.TypeA, func(m *dnsmessage.Message) { m.Response = true }), "silence"},
		{"too large", append(slices.Clone(good), make([]byte, maxMessage)...), "silence"},
		{"header alone", good[:12], "FormatError"},
		{"half a question", good[:20], "FormatError"},
		{"no question", ask(t, "x.", dnsmessage.TypeA, func(m *dnsmessage.Message) { m.Questions = nil }), "FormatError"},
		{"two questions", ask(t, "api.github.com.", dnsmessage.TypeA, func(m *dnsmessage.Message) {
			m.Questions = append(m.Questions, m.Questions[0])
		}), "FormatError"},
		{"a name that points at itself", append(slices.Clone(good[:12]), 0xc0, 12, 0, 1, 0, 1), "FormatError"},
		{"an update", ask(t, "api.github.com.", dnsmessage.TypeA, func(m *dnsmessage.Message) { m.OpCode = 5 }), "NotImplemented"},
		{"another class", ask(t, "version.bind.", dnsmessage.TypeTXT, func(m *dnsmessage.Message) {
			m.Questions[0].Class = dnsmessage.ClassCHAOS
		}), "Refused"},
		{"trailing bytes", append(slices.Clone(good), 1, 2, 3), "Success 198.18.1.0"},
	} {
		if _, got := read(t, c.answer(tc.msg)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.what, got, tc.want)
		}
	}
	if len(*denied) != 0 {
		t.Errorf("denied names of malformed queries: %q", *denied)
	}
}

func TestEDNS(t *testing.T) {
	c, _ := stub("api.github.com")
	opt := func(version uint32, count int) func(*dnsmessage.Message) {
		return func(m *dnsmessage.Message) {
			var h dnsmessage.ResourceHeader
			if err := h.SetEDNS0(1232, dnsmessage.RCodeSuccess, true); err != nil {
				t.Fatal(err)
			}
			h.TTL |= version << 16
			for range count {
				m.Additionals = append(m.Additionals, dnsmessage.Resource{Header: h, Body: &dnsmessage.OPTResource{}})
			}
		}
	}
	for _, tc := range []struct {
		version uint32
		count   int
		want    string
		code    dnsmessage.RCode
		opts    int
	}{
		{0, 0, "Success 198.18.1.0", dnsmessage.RCodeSuccess, 0},
		{0, 1, "Success 198.18.1.0", dnsmessage.RCodeSuccess, 1},
		{1, 1, "Success", badVersion, 1},
		{0, 2, "FormatError", dnsmessage.RCodeFormatError, 1},
	} {
		m, got := read(t, c.answer(ask(t, "api.github.com.", dnsmessage.TypeA, opt(tc.version, tc.count))))
		if got != tc.want || len(m.Additionals) != tc.opts {
			t.Errorf("version %d, %d OPT: %q with %d OPT, want %q with %d", tc.version, tc.count, got, len(m.Additionals), tc.want, tc.opts)
			continue
		}
		if tc.opts == 0 {
			continue
		}
		h := m.Additionals[0].Header
		if h.ExtendedRCode(m.RCode) != tc.code || h.Class != maxMessage || h.DNSSECAllowed() {
			t.Errorf("version %d, %d OPT: OPT %+v, code %v", tc.version, tc.count, h, h.ExtendedRCode(m.RCode))
		}
	}
}

func TestAPanicEndsOneQuery(t *testing.T) {
	c, _ := stub()
	var told any
	c.Panicked = func(v any) { told = v }
	allowed := c.Allowed
	c.Allowed = func(string) bool { panic("broken") }
	if reply := c.answer(ask(t, "a.example.", dnsmessage.TypeA, nil)); reply != nil || told != "broken" {
		t.Errorf("reply %x, told %v", reply, told)
	}
	c.Allowed = allowed
	if _, got := read(t, c.answer(ask(t, "a.wild.example.", dnsmessage.TypeA, nil))); got != "Success 198.18.1.0" {
		t.Errorf("the next query: %q", got)
	}
}
