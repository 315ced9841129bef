package egress

import (
	"strings"
	"testing"
)

func parsed(t *testing.T, lines ...string) (out []Rule) {
	t.Helper()
	for _, line := range lines {
		r, err := ParseRule(line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func notesOn(t *testing.T, rules []Rule) []string {
	t.Helper()
	rs, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return rs.Notes()
}

// TestA70_KnownWaysOutAreSaid: rules that let an allowed API publish, fetch or make
// keys for the jail are said to, each with the rule that takes it out; with all of
// these, nothing is left to say.
func TestA70_KnownWaysOutAreSaid(t *testing.T) {
	for line, want := range map[string][]string{
		"* api.github.com":                      {"POST /graphql", "POST,PATCH /gists/**", "POST /user/*keys"},
		"POST *.github.com/**":                  {"POST /graphql", "POST,PATCH /gists/**"},
		"POST api.github.com:*/gists":           {"POST,PATCH /gists/**"},
		"* api.github.com/repos/acme/app/**":    {"POST,PATCH /repos/*/*/hooks/**", "PUT /repos/*/*/collaborators/*"},
		"PUT registry.npmjs.org/**":             {"PUT /*"},
		"POST api.anthropic.com/v1/messages":    {"POST /v1/messages"},
		"GET,HEAD api.github.com/**":            nil,
		"POST api.github.com/repos/a/b/issues":  nil,
		"* http://api.github.com":               nil,
		"* api.github.com:8443":                 nil,
		"!* api.github.com":                     nil,
		"POST api.github.com/repos/a/*/hooks":   {"/repos/*/*/hooks/**"},
		"POST api.github.com/repos/a/b/pulls/*": nil,
	} {
		rules := parsed(t, line)
		notes := notesOn(t, rules)
		text := strings.Join(notes, "\n")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: nothing is said of %s:\n%s", line, w, text)
			}
		}
		if want == nil && len(notes) > 0 {
			t.Errorf("%s: %s", line, text)
		}
		for n := 0; len(notes) > 0; n++ {
			if n > len(waysOut) {
				t.Fatalf("%s: what is told to be written changes nothing: %s", line, notes)
			}
			_, quoted, _ := strings.Cut(notes[0], `"`)
			rules = append(rules, parsed(t, strings.TrimSuffix(quoted, `"`))...)
			notes = notesOn(t, rules)
		}
	}
}
