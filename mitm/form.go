package mitm

import (
	"net/http"
	"slices"
	"strings"
)

// form is how a refusal is written: the one that its client shows to people.
type form int

const (
	formJSON  form = iota
	formPlain      // text
	formNPM        // JSON whose error is the text, not an object
	formXML        // XML as S3 and what is like it answer
	formQuery      // the same one element deeper, as AWS's older services answer
)

// plainAgents show the body of an error when it is text, and only then: git what
// is text/plain, Kubernetes' clients what is text instead of a Status of theirs.
var plainAgents = []string{"git/", "git-lfs/"}

// storageAgents take an answer in another form than their service's for a broken
// one, and show of it the number alone, or nothing.
var storageAgents = []string{"aws-cli/", "Boto", "aws-sdk-", "rclone/", "minio-go/"}

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
	return storageForm(req, agent)
}

// storageForm returns the form for a client of AWS or of what is like S3, which says
// by its request which of their protocols its service has.
func storageForm(req *http.Request, agent string) form {
	kind := req.Header.Get("Content-Type")
	speaks := func(a string) bool { return strings.Contains(agent, a) }
	switch {
	case req.Header.Get("X-Amz-Target") != "", strings.Contains(kind, "json"):
	case slices.ContainsFunc(storageAgents, speaks) && strings.HasPrefix(kind, "application/x-www-form-urlencoded"):
		return formQuery
	case slices.ContainsFunc(storageAgents, speaks), req.Header.Get("X-Ms-Version") != "", acceptsOnly(req, "application/xml"):
		return formXML
	}
	return formJSON
}

// textOnly reports whether a client accepts text and nothing else.
func textOnly(req *http.Request) bool { return acceptsOnly(req, "text/") }

// acceptsOnly reports whether a client accepts types with this begin and no others.
func acceptsOnly(req *http.Request, begin string) bool {
	types := strings.Split(strings.Join(req.Header.Values("Accept"), ","), ",")
	for _, t := range types {
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(t)), begin) {
			return false
		}
	}
	return true
}
