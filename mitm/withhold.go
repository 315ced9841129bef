package mitm

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
)

// Minting says what becomes of a reply that gives the jail a token for its credential.
type Minting string

// The answers. All are recorded.
const (
	MintingPass    Minting = "pass"    // the jail gets it; the default
	MintingCapture Minting = "capture" // the jail gets a placeholder for it
	MintingMask    Minting = "mask"    // the token is replaced by as many asterisks
	MintingAbort   Minting = "abort"   // the reply is refused, or broken off where it has begun
)

// withholds reports whether no token is to reach the jail.
func (m Minting) withholds() bool {
	return m == MintingCapture || m == MintingMask || m == MintingAbort
}

func (m Minting) check() error {
	if m == "" || m == MintingPass || m.withholds() {
		return nil
	}
	return fmt.Errorf("mitm: on minted %.16q: not pass, capture, mask or abort", string(m))
}

// withheldLook is how much of a reply of known length is looked through before its
// head is passed on, in bytes, so that a refusal can take its place.
const withheldLook = 64 << 10

// withheld is the body of a reply on its way to a jail that is to have no token of it.
// Tokens are found wherever they begin, in whatever pieces they come.
type withheld struct {
	io.ReadCloser
	abort error // in the place of the first piece with a token; nil: it is masked

	tokens tokenFinder
	found  bool
	err    error
}

func (w *withheld) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.ReadCloser.Read(p)
	w.mask(p[:n])
	if w.found && w.abort != nil {
		w.err = w.abort
		return 0, w.err
	}
	return n, err
}

// mask overwrites the tokens in b.
func (w *withheld) mask(b []byte) {
	for len(b) > 0 {
		plain, token, _ := w.tokens.next(b)
		for i := plain; i < plain+token; i++ {
			b[i] = '*'
		}
		w.found = w.found || token > 0
		b = b[plain+token:]
	}
}

// withhold keeps the tokens of a reply from the jail, as its policy says.
func (x *exchange) withhold(resp *http.Response) error {
	w := &withheld{ReadCloser: resp.Body}
	if x.g.OnMinted == MintingAbort {
		w.abort = refuse(http.StatusBadGateway, audit.CodeMintedToken,
			"the reply of "+x.s.authority.Host()+" gives a token for the credential, and the policy keeps such from the jail")
	}
	x.minted.withheld, resp.Body = w, w
	if w.abort == nil || resp.ContentLength < 0 {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(w, withheldLook))
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(head), w), w}
	return err
}

// vetCharset refuses a reply in a charset in which tokens are not found. The jail may
// have asked for it.
func (x *exchange) vetCharset(resp *http.Response) error {
	for field := range strings.SplitSeq(strings.Join(resp.Header["Content-Type"], ";"), ";") {
		name, charset, _ := strings.Cut(strings.ToLower(field), "=")
		if strings.TrimSpace(name) != "charset" {
			continue
		}
		switch charset = strings.Trim(charset, " \t\"'"); {
		case charset == "", charset == "utf-8", charset == "utf8", strings.Contains(charset, "ascii"),
			strings.HasPrefix(charset, "iso-8859-"), strings.HasPrefix(charset, "windows-125"), charset == "latin1":
		default:
			return refuse(http.StatusBadGateway, audit.CodeMintedToken,
				"the reply of "+x.s.authority.Host()+" is in a charset in which no tokens are found, and the policy keeps such from the jail")
		}
	}
	return nil
}
