package trust

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func input(ca []byte) Input {
	return Input{
		CADER: ca, Home: "/home/alice", Shell: "/bin/sh",
		User:     jail.User{UID: 4242, GID: 4243, Groups: []uint32{4244}, Name: "alice"},
		Groups:   []Group{{"staff", 4243}},
		Git:      []jail.GitSetting{{Key: "user.name", Value: `Al "the" \ Ice`}, {Key: "color.diff.meta", Value: "blue"}},
		GitHosts: []string{"github.com"},
	}
}

// TestAccountsHoldNoLineOfTheCallers: names come from a user database that the
// caller may have a say in.
func TestAccountsHoldNoLineOfTheCallers(t *testing.T) {
	for name, want := range map[string]string{
		"alice":             "alice",
		"a.l-i_ce9":         "a.l-i_ce9",
		"":                  "u4242",
		"root":              "u4242",
		"nobody":            "u4242",
		"x:0:0::/:/bin/sh":  "u4242",
		"x\nroot2:x:0:0::/": "u4242",
		"-rf":               "u4242",
		"ünicode":           "u4242",
	} {
		in := input(nil)
		in.User.Name = name
		passwd, group, err := accounts(in)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(string(passwd), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[1], want+":x:4242:") {
			t.Errorf("%q: passwd is\n%s", name, passwd)
		}
		if strings.Count(string(group), "\n") != 4 {
			t.Errorf("%q: group is\n%s", name, group)
		}
	}
	for _, home := range []string{"", "relative", "/a:b", "/a\nb", "/a\x00"} {
		in := input(nil)
		in.Home = home
		if _, _, err := accounts(in); err == nil {
			t.Errorf("home %q is taken", home)
		}
	}
}

// TestGitReadsBackWhatWasWritten lets the real git parse hostile values.
func TestGitReadsBackWhatWasWritten(t *testing.T) {
	settings := []jail.GitSetting{
		{Key: "user.name", Value: "plain"},
		{Key: "user.email", Value: "a@b\n[core]\n\tfsmonitor = evil"},
		{Key: "init.defaultBranch", Value: `"; x # \`},
		{Key: "color.diff.meta", Value: "\ttab \b bell"},
		{Key: `color.x"] [core.y`, Value: "sub"},
		{Key: "pull.rebase", Value: " spaces "},
	}
	refused := []jail.GitSetting{
		{Key: "core]\n[alias.x", Value: "1"}, {Key: "nodot", Value: "1"}, {Key: "a.b\n", Value: "1"}, {Key: ".x", Value: "1"},
		{Key: "user.name", Value: "nul\x00"}, {Key: "a.1x", Value: "1"}, {Key: "a.s\nub.x", Value: "1"},
	}
	file := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(file, gitConfig(append(refused, settings...), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "config", "--file", file, "--null", "--list").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var want strings.Builder
	for _, s := range settings {
		section, sub, name, _ := splitKey(s.Key)
		if sub != "" {
			section += "." + sub
		}
		want.WriteString(section + "." + strings.ToLower(name) + "\n" + s.Value + "\x00")
	}
	if string(out) != want.String() {
		t.Errorf("git reads %q\nwant %q", out, want.String())
	}
}
