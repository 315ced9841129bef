package bwrap_test

import (
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

// TestS20_AboveAMaskThereIsTheToolchainAlone: what is hidden beside it is not even
// named.
func TestS20_AboveAMaskThereIsTheToolchainAlone(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	write(t, ws+"/.data/versions/3.12/bin/tool", "tool\n")
	write(t, ws+"/.data/versions/3.11/bin/tool", "other\n")
	write(t, ws+"/.data/secret", "SECRET\n")
	l, d := grants(t,
		jail.OpenGrant{Path: ws, Dir: true, Held: []jail.OpenName{{Name: ".data", Dir: true}}, Masked: []jail.OpenName{{Name: ".data", Dir: true}}},
		jail.OpenGrant{Path: ws + "/.data/versions/3.12", Dir: true},
		jail.OpenGrant{Path: ws + "/.data/versions/3.11/bin/tool"})
	out := r.sh(t, l, d, `cd `+ws+`/.data || exit 1
		find . | sort | tr '\n' ' '; cat versions/*/bin/tool
		touch x versions/x versions/3.12/x 2>/dev/null && echo written; mv versions v 2>/dev/null && echo moved; true`)
	want := ". ./versions ./versions/3.11 ./versions/3.11/bin ./versions/3.11/bin/tool ./versions/3.12 ./versions/3.12/bin ./versions/3.12/bin/tool other\ntool\n"
	if out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}
