package daemon

import (
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestTheHintOfAClosedGitConfiguration(t *testing.T) {
	for line, want := range map[string]bool{
		"git remote add x y": true, "git push -u origin main": true, "/usr/bin/git -C x config a.b c": true,
		"sh -c cd x && git submodule add u": true, "git status": false, "git diff --exit-code": false, "legit config": false, "npm config": false,
	} {
		var argv [][]byte
		for w := range strings.FieldsSeq(line) {
			argv = append(argv, []byte(w))
		}
		if got := writesGitConfig(argv); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	g := jail.OpenGrant{Git: []string{".", "sub/.git"}, ReadOnly: []jail.OpenName{{Name: "sub/.git/config"}}}
	if !gitConfigClosed([]jail.OpenGrant{{}, g}) {
		t.Error("a closed configuration is not seen")
	}
	g.ReadOnly[0].Name = "other/config"
	if gitConfigClosed([]jail.OpenGrant{g}) {
		t.Error("another file called config counts")
	}
}
