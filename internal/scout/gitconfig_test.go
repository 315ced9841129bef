package scout

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var gitSamples = []string{
	"",
	"[user]\n\tname = Ada\n",
	"[user]name=Ada",
	"[User]\nNAME = \"Ada \\\"x\\\" \" ; comment\n",
	"[color \"branch\"]\n current = red # c\n[pull]\nrebase\n",
	"[a \"b\\\"c\\\\d\"]\nk = v\\\n w\n",
	"[a.b]\nk=1\r\n",
	"\ufeff[a]\nk = x y  z \n",
	"[a]\nk = \"#\";\n l = \\t\\n\\b\n",
	"[a] k = v\n",
	"[a]\nk\n l=\n",
}

// gitList is what git itself reads, as "key\nvalue\x00".
func gitList(t *testing.T, text string) (string, bool) {
	t.Helper()
	p := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--file", p, "--no-includes", "--list", "--null")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	out, err := cmd.Output()
	return string(out), err == nil
}

func ourList(settings []setting) string {
	var b strings.Builder
	for _, s := range settings {
		b.WriteString(s.section + ".")
		if s.subsection != "" {
			b.WriteString(s.subsection + ".")
		}
		b.WriteString(s.key + "\n" + s.value + "\x00")
	}
	return b.String()
}

// A key without "=" has no value for git's list, and "true" for us.
func withoutImplied(list string) string {
	return strings.ReplaceAll(list, "\ntrue\x00", "\x00")
}

func TestGitConfigIsReadAsGitReadsIt(t *testing.T) {
	for _, text := range gitSamples {
		settings, err := parseGitConfig([]byte(text))
		want, ok := gitList(t, text)
		if (err == nil) != ok {
			t.Errorf("%q: error %v, git accepts it: %v", text, err, ok)
			continue
		}
		if got := withoutImplied(ourList(settings)); got != withoutImplied(want) {
			t.Errorf("%q: got %q, git says %q", text, got, want)
		}
	}
}

func TestGitConfigRefusesWhatIsNoGitConfig(t *testing.T) {
	for _, text := range []string{"k = v", "[a", "[]\n", "[a]\n1=2", "[a]\nk = \"x", "[a]\nk = \\q", "[a \"b]\nk=1", "[a]\nk v\n"} {
		if s, err := parseGitConfig([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, s)
		}
	}
}

func FuzzGitConfig(f *testing.F) {
	for _, s := range gitSamples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		settings, err := parseGitConfig(text)
		if err != nil {
			return
		}
		for _, s := range settings {
			if s.key == "" || s.section == "" || strings.ContainsAny(s.key+s.section, "\n\x00 \"]") {
				t.Fatalf("%q gives the setting %+v", text, s)
			}
			if key := s.allowedKey(); key != "" && !slices.Contains([]string{"user", "init", "core", "pull", "color"}, strings.Split(key, ".")[0]) {
				t.Fatalf("%q passes %s on", text, key)
			}
		}
		if bytes.Count(text, []byte("\n")) > 0 && len(settings) > len(text) {
			t.Fatal("more settings than bytes")
		}
	})
}
