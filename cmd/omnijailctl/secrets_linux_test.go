package main

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/api/apitest"
)

// A secret travels in a sealed memory file and nowhere else; one that is not set
// is not announced.
func TestSecretsTravelSealed(t *testing.T) {
	const secret = "ghp_abcdefghijklmnop"
	const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	for environ, want := range map[string]string{"GH_TOKEN=" + secret: secret, "GH_TOKEN=": "", "OTHER=" + secret: ""} {
		p := newPerson(t)
		p.env = append(p.env, environ)
		p.daemon(t, func(e *apitest.Exec, req api.ExecRequest) {
			if strings.Contains(string(e.Request), secret) {
				t.Errorf("%s: the request holds the secret: %s", environ, e.Request)
			}
			if len(req.SecretFDs) != len(e.Files)-3 || (want != "") != (len(req.SecretFDs) == 1) {
				t.Errorf("%s: %q with %d descriptors", environ, req.SecretFDs, len(e.Files))
				return
			}
			for _, f := range e.Files[3:] {
				seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
				value, rerr := io.ReadAll(io.NewSectionReader(f, 0, 1<<10))
				if err != nil || rerr != nil || seals != all || string(value) != want {
					t.Errorf("%s: %q, seals %#x; %v %v", environ, value, seals, err, rerr)
				}
			}
		})
		if _, stderr, code := output(t, p.shell("omnijailctl exec --policy github-read -- true")); code != 0 {
			t.Errorf("%s: exit %d, %s", environ, code, stderr)
		}
	}
}
