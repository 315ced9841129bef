package mitm

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
)

// mintedLook is how much of a reply is looked through for what it mints, in bytes.
const mintedLook = 64 << 10

// minted finds out whether the reply to a request that carried a credential gives
// the jail another one: a token, or an address that authenticates whoever has it.
// Such a thing passes, where the policy says nothing else, since the jail would not
// work without it; its owner can read in the journal that it did.
type minted struct {
	io.ReadCloser
	location string
	head     []byte
	withheld *withheld // nil where tokens pass, or are captured
	tokens   int       // that were to be captured
	captured bool      // the jail has a placeholder for something in it
}

// watchMinting looks at resp on its way to the jail, once its secrets are masked. Its
// error is a refusal.
func (x *exchange) watchMinting(resp *http.Response) error {
	if x.binding < 0 || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	if x.minted == nil {
		x.minted = &minted{}
	}
	x.minted.location = resp.Header.Get("Location")
	if !x.mayMint(resp) {
		return nil
	}
	if x.g.OnMinted.withholds() && x.g.OnMinted != MintingCapture {
		if err := x.vetCharset(resp); err != nil {
			return err
		}
		if err := x.withhold(resp); err != nil {
			return err
		}
	}
	x.minted.ReadCloser, resp.Body = resp.Body, x.minted
	return nil
}

// mayMint reports whether software looks for tokens in this type of content, or guesses
// it. JavaScript is what some servers make of JSON for who asks.
func (x *exchange) mayMint(resp *http.Response) bool {
	types := resp.Header["Content-Type"]
	return x.req.Method != http.MethodHead && (len(types) == 0 || slices.ContainsFunc(types, func(kind string) bool {
		kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
		return strings.TrimSpace(kind) == "" || strings.Contains(kind, "json") || strings.Contains(kind, "javascript") ||
			strings.Contains(kind, "xml") || strings.Contains(kind, "form-urlencoded")
	}))
}

func (m *minted) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.head = append(m.head, p[:min(n, mintedLook-len(m.head))]...)
	return n, err
}

// The keys under which tokens are handed out (OAuth 2, OpenID, AWS STS, git LFS,
// registries, GitHub Apps), with a value that is there and was not masked, and the
// parameters that sign an address (S3, Cloud Storage, CloudFront, Azure).
var (
	mintedToken = regexp.MustCompile(`"(?:(?:access_|refresh_|id_|session_|)token|[Ss]essionToken|[Ss]ecretAccessKey|client_secret|private_key)"\s*:\s*"[^"*]` +
		`|"[Aa]uthorization"\s*:\s*"(?:[A-Za-z]+ )?[^"*]` +
		`|<(?:SessionToken|SecretAccessKey)>[^<*]` +
		`|(?:^|&)(?:access|refresh|id)_token=[^&*]`)
	bearerURL = regexp.MustCompile(`(?:[?&]|\\u0026|&amp;)(?:(?:X-Amz-|X-Goog-|)Signature|Key-Pair-Id|sig)=[^&"*\s]`)

	// Each match of one above has one of these in it: most replies have none.
	mintedHints = [][]byte{[]byte("oken"), []byte("ecret"), []byte("rivate_key"), []byte("uthorization\"")}
	bearerHints = [][]byte{[]byte("Signature="), []byte("Key-Pair-Id="), []byte("sig=")}
)

// code is what the record of the request's end says of it; empty for nothing.
func (m *minted) code() audit.Code {
	switch {
	case m == nil:
		return ""
	case m.captured:
		return audit.CodeCaptured
	case m.withheld != nil && m.withheld.found:
		return audit.CodeMintedToken
	case containsAny(m.head, mintedHints) && mintedToken.Match(m.head):
		return audit.CodeMintedToken
	case bearerURL.MatchString(m.location), containsAny(m.head, bearerHints) && bearerURL.Match(m.head):
		return audit.CodeBearerURL
	}
	return ""
}

// refused reports whether the reply was broken off for a token in it.
func (m *minted) refused() bool { return m != nil && m.withheld != nil && m.withheld.err != nil }

func containsAny(b []byte, list [][]byte) bool {
	for _, s := range list {
		if bytes.Contains(b, s) {
			return true
		}
	}
	return false
}
