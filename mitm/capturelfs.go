package mitm

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// maxLFS is how large an answer of git LFS may be, in bytes. It names a hundred files.
const maxLFS = 4 << 20

// lfs reports whether a reply is git LFS's: where its files are, and what opens them,
// often at another host.
func lfs(h http.Header) bool {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(t), "application/vnd.git-lfs+json")
}

// captureLFS keeps the tokens and signed addresses of an answer of git LFS. Each is
// good at the host that the answer names for it.
func (x *exchange) captureLFS(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLFS+1))
	if err != nil {
		return err
	}
	if len(body) == 0 { // to a verification, or with a status that has none
		return nil
	}
	var answer any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if len(body) > maxLFS || dec.Decode(&answer) != nil {
		return refuse(http.StatusBadGateway, audit.CodeMintedToken,
			"the answer of "+x.s.authority.Host()+" to git LFS cannot be looked through for tokens, and the policy keeps such from the jail")
	}
	x.captureActions(answer, place{secure: true})
	body, err = json.Marshal(answer)
	replaceBody(resp, body)
	return err
}

// place is where a token of an answer may go.
type place struct {
	at     []egress.Authority // none: where the credential goes
	secure bool               // no credential goes to what is not encrypted, or is not named clearly
}

// captureActions goes through all of an answer for addresses, and for the tokens that
// are beside and below them: actions, and whatever a server puts there. What has no
// address around it is a token like that of any other reply.
func (x *exchange) captureActions(v any, around place) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			x.captureActions(e, around)
		}
	case map[string]any:
		around = placeOf(v, around)
		for name, e := range v {
			text, ok := e.(string)
			switch {
			case !ok:
				x.captureActions(e, around)
			case strings.EqualFold(name, "href"):
				if signed, ok := x.keepAddress(text); ok {
					v[name] = signed
				}
			case x.handedBack(around, name, text):
				delete(v, name)
			case tokenName.MatchString(name) && text != "":
				v[name] = x.keepTokenFor(around, name, text)
			}
		}
	}
}

// tokenName is one under which a token is handed out, in any case: the client of git
// LFS does not tell them apart.
var tokenName = regexp.MustCompile(`^(?i:(?:access_|refresh_|id_|session_|session|)token|secretaccesskey|client_secret|private_key|authorization)$`)

// placeOf is where the address in an action leads; around where it has none.
func placeOf(action map[string]any, around place) place {
	found := around
	for name, e := range action {
		href, ok := e.(string)
		if !ok || !strings.EqualFold(name, "href") {
			continue
		}
		if name != "href" { // its client may see another one
			return place{}
		}
		to, err := url.Parse(href)
		if err != nil || to.Scheme != string(egress.HTTPS) {
			return place{}
		}
		at, err := egress.ParseAuthority(to.Host, egress.HTTPS.Port())
		if err != nil {
			return place{}
		}
		found = place{[]egress.Authority{at}, true}
	}
	return found
}

// handedBack reports whether a field of an answer is the credential itself, for a place
// where it is attached anyway: some servers answer with what they were asked with. It is
// no reflection, three of which stop the jail's network, but only where the answer is
// one of git LFS for certain: else who guesses would learn that a guess is right.
func (x *exchange) handedBack(to place, name, text string) bool {
	return x.cred.Action == creds.Attach && strings.EqualFold(name, "Authorization") && slices.Equal(x.req.Header["Authorization"], []string{text}) &&
		slices.Equal(to.at, []egress.Authority{x.s.authority}) &&
		x.req.Method == http.MethodPost && strings.HasSuffix(x.target.path, "/info/lfs/objects/batch")
}

// keepTokenFor returns what the jail gets for the value of a field of an answer.
func (x *exchange) keepTokenFor(to place, name, text string) string {
	scheme, token := "", text
	if strings.EqualFold(name, "Authorization") {
		if word, rest, ok := strings.Cut(text, " "); ok {
			scheme, token = word+" ", rest
		}
	}
	if !to.secure {
		return scheme + x.maskToken(token)
	}
	return scheme + x.keepToken(token, to.at...)
}
