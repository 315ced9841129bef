package policy

import (
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/egress"
)

func TestReplay(t *testing.T) {
	d := &Document{}
	parsed := func(text string) egress.Rule {
		r, err := egress.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, text := range []string{
		"GET api.test/**", "!GET api.test/secret/**", "POST api.test:8443/x", "GET http://plain.test/**",
	} {
		d.Rules = append(d.Rules, Rule{Rule: parsed(text)})
	}
	asks := parsed("GET query.test/q")
	asks.Query = map[string]string{"service": "a"}
	d.Rules = append(d.Rules, Rule{Rule: asks})

	got, err := Replay(d, []Recorded{
		{"1", "GET", "api.test:443", "/user", true},
		{"2", "GET", "api.test", "/secret/x", true},
		{"3", "GET", "api.test:443", "/new", false},
		{"4", "GET", "api.test:443", "/new", false},
		{"5", "POST", "api.test:8443", "/x", true},
		{"6", "GET", "plain.test:80", "/", true},
		{"7", "GET", "query.test:443", "/q", true},
		{"8", "GET", "api.test:443", "/a/../b", true},
		{"9", "GET", "other.test:443", "/", false},
		{"10", "GET", "not a host", "/", true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Same != 4 {
		t.Errorf("%d are the same", got.Same)
	}
	var text []string
	for _, c := range got.Changes {
		text = append(text, c.String())
	}
	if len(text) != 2 || !strings.HasPrefix(text[0], "would refuse GET api.test/secret/x (2): ") ||
		!strings.HasPrefix(text[1], "would allow  GET api.test:443/new (4, 2 times): ") {
		t.Errorf("changes:\n%s", strings.Join(text, "\n"))
	}
	if len(got.Unknown) != 3 || !strings.Contains(got.Unknown[0].Text, "query") {
		t.Errorf("unknown: %+v", got.Unknown)
	}
}
