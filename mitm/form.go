package mitm

import (
	"net/http"
	"strings"
)

// form is how a refusal is written: the one that its client shows to people.
type form int

const (
	formJSON  form = iota
	formPlain      // text
	formNPM        // JSON whose error is the text, not an object
)

// plainAgents show the body of an error when it is text, and only then: git what
// is text/plain, Kubernetes' clients what is text instead of a Status of theirs.
var plainAgents = []string{"git/", "git-lfs/"}

const kubernetesAgent = " kubernetes/"

// formFor returns the form for the client of req, which may be nil: then its head
// could not be read.
func formFor(req *http.Request) form {
	if req == nil {
		return formJSON
	}
	agent := req.UserAgent()
	for _, a := range plainAgents {
		if strings.HasPrefix(agent, a) {
			return formPlain
		}
	}
	switch {
	case strings.Contains(agent, kubernetesAgent), req.Header.Get("Sec-Fetch-Dest") == "document", textOnly(req):
		return formPlain
	case strings.Contains(agent, "npm/"): // pnpm's and yarn's names hold it too
		return formNPM
	}
	return formJSON
}

// textOnly reports whether a client accepts text and nothing else.
func textOnly(req *http.Request) bool {
	types := strings.Split(strings.Join(req.Header.Values("Accept"), ","), ",")
	for _, t := range types {
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(t)), "text/") {
			return false
		}
	}
	return true
}
