package daemon

import "testing"

// What cannot be said to a command of a session is not offered for one.
func TestFixesOfASession(t *testing.T) {
	one, session := &liveJail{}, &liveJail{session: true}
	for fix, want := range map[string]string{
		"omnijailctl exec --allow 'GET a.test/**' -- …": "omnijailctl create --allow 'GET a.test/**'",
		"omnijailctl exec --write . -- …":               "omnijailctl create --write .",
		"--memory 128m":                                 "omnijailctl create --memory 128m",
		"--pids 40":                                     "omnijailctl create --pids 40",
		"--timeout 2s":                                  "--timeout 2s",
		"limits: {scratch: 8MiB}":                       "limits: {scratch: 8MiB}",
		"":                                              "",
	} {
		if got := one.fixFor(fix); got != fix {
			t.Errorf("%q became %q", fix, got)
		}
		if got := session.fixFor(fix); got != want {
			t.Errorf("%q became %q in a session, want %q", fix, got, want)
		}
	}
}
