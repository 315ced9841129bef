package mitm

import (
	"net/http"
	"net/url"
	"strings"
)

const (
	gitDiscovery = "/info/refs"
	gitPush      = "git-receive-pack"
	gitFetch     = "git-upload-pack"
)

// gitNext returns the path of the POST that a git client announces with req, and
// whether req is such an announcement.
//
// git asks for the refs first and says for which service, then posts to it. It
// shows the text of a refusal of the first request to the user, and of the
// second only the number 403. So the second is judged when the first arrives.
// Fetching by the old protocol may end after the refs; it is left alone.
func gitNext(req *http.Request, t gated) (path string, ok bool) {
	repo, ok := strings.CutSuffix(t.path, gitDiscovery)
	if !ok || req.Method != http.MethodGet || !strings.HasPrefix(req.UserAgent(), "git/") {
		return "", false
	}
	q, err := url.ParseQuery(t.query)
	if err != nil {
		return "", false
	}
	switch service := q.Get("service"); {
	case service == gitPush,
		service == gitFetch && strings.Contains(req.Header.Get("Git-Protocol"), "version=2"):
		return repo + "/" + service, true
	}
	return "", false
}
