package mitm

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/omnijail/omnijail/internal/audit"
)

// Minting says what becomes of a reply that gives the jail a token for its credential.
type Minting string

// The answers. All are recorded.
const (
	MintingPass  Minting = "pass"  // the jail gets it; the default
	MintingMask  Minting = "mask"  // the token is replaced by as many asterisks
	MintingAbort Minting = "abort" // the reply is refused, or broken off where it has begun
)

// withholds reports whether no token is to reach the jail.
func (m Minting) withholds() bool { return m == MintingMask || m == MintingAbort }

func (m Minting) check() error {
	if m == "" || m == MintingPass || m.withholds() {
		return nil
	}
	return fmt.Errorf("mitm: on minted %.16q: not pass, mask or abort", string(m))
}

// withheldLook is how much of a reply of known length is looked through before its
// head is passed on, in bytes, so that a refusal can take its place.
const withheldLook = 64 << 10

// withheldTail is how much of what went by is kept, in bytes: the name of a token, and
// what stands between it and the token.
const withheldTail = 256

// withheld is the body of a reply on its way to a jail that is to have no token of it.
// Tokens are found wherever they begin, in whatever pieces they come.
type withheld struct {
	io.ReadCloser
	abort error // in the place of the first piece with a token; nil: it is masked

	tail    []byte // the last of what went by
	ends    byte   // of the token that is going by; 0 between tokens
	escaped bool   // its last byte makes the next one part of it
	found   bool
	err     error
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
		if w.ends != 0 {
			b = b[w.over(b):]
			continue
		}
		from := w.start(b)
		if from < 0 {
			return
		}
		w.found, w.tail, b = true, nil, b[from:]
	}
}

// start finds where in b, behind what went by, the first token begins, and what ends
// it; -1 for nowhere.
func (w *withheld) start(b []byte) int {
	window := append(w.tail, b...)
	if containsAny(window, mintedHints) {
		for _, at := range mintedToken.FindAllIndex(window, -1) {
			from := at[1] - 1 - len(w.tail) // the match has the first byte of the token
			if from >= 0 {
				w.ends = tokenEnd(window[at[0]])
				return from
			}
		}
	}
	w.tail = bytes.Clone(window[max(0, len(window)-withheldTail):])
	return -1
}

// tokenEnd is what ends a token whose name begins with a byte: in JSON, XML or a form.
func tokenEnd(begins byte) byte {
	switch begins {
	case '"', '<':
		return begins
	}
	return '&'
}

// over overwrites the rest of a token, as far as it is in b, and says how far that is.
func (w *withheld) over(b []byte) int {
	for i, c := range b {
		switch {
		case c == w.ends && !w.escaped:
			w.ends = 0
			return i
		case w.ends == '&' && c == '\n':
			w.ends = 0
			return i
		}
		w.escaped = w.ends == '"' && c == '\\' && !w.escaped
		b[i] = '*'
	}
	return len(b)
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
