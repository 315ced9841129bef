package daemon

import "strings"

// fixFor makes the command that would mend a jail of one command one that can be typed
// for j: what a session may was decided when it was created.
func (j *liveJail) fixFor(fix string) string {
	if !j.session {
		return fix
	}
	if rest, ok := strings.CutPrefix(fix, "omnijailctl exec "); ok {
		return "omnijailctl create " + strings.TrimSuffix(rest, " -- …")
	}
	for _, flag := range []string{"--memory ", "--pids "} {
		if strings.HasPrefix(fix, flag) {
			return "omnijailctl create " + fix
		}
	}
	return fix
}
