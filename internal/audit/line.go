package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

const (
	maxLine   = 64 << 10 // bytes; ours are far shorter
	maxStderr = 32       // lines
)

// head is the end of a chain: the last record's number and hash.
type head struct {
	seq  uint64
	hash string
}

// clean returns r with every string fit to be stored. A fix that would have to
// be cut is left out: half a command must not be pasted.
func clean(r Record) Record {
	for _, s := range []*string{&r.Jail, &r.Policy, &r.Authority, &r.Method, &r.Path, &r.Code,
		&r.Credential, &r.Argv0, &r.By, (*string)(&r.Kind), (*string)(&r.Decision)} {
		*s = Escape(*s)
	}
	r.Stderr = slices.Clone(r.Stderr[:min(len(r.Stderr), maxStderr)])
	for i, line := range r.Stderr {
		r.Stderr[i] = Escape(line)
	}
	for _, s := range []*string{&r.Rule, &r.Origin, &r.Reason} {
		*s = escape(*s, ownMax)
	}
	if g := r.Grant; Escape(g) != g {
		r.Grant = "" // not the path that was meant
	}
	if r.Fix = escape(r.Fix, 0); len(r.Fix) > ownMax {
		r.Fix = ""
	}
	return r
}

// chain is the hash of a line: SHA-256 over the hash of the line before, as it
// is written, and the line's bytes up to its own hash.
func chain(prev string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(prev))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// decode reads one line without its newline and checks that it hashes to what
// it says.
func decode(line []byte) (Record, error) {
	var r Record
	at := bytes.LastIndex(line, []byte(hashField))
	if at < 0 {
		return r, errors.New("it has no hash at its end")
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("it is not a record: %w", err)
	}
	// Only the exact tail is accepted, so that no second member can stand
	// between the hashed bytes and the hash.
	if string(line[at:]) != hashField+r.Hash+`"}` || len(r.Hash) != hex.EncodedLen(sha256.Size) {
		return r, errors.New("its hash is not the last member")
	}
	if r.Hash != chain(r.Prev, line[:at]) {
		return r, errors.New("its bytes do not hash to what it says")
	}
	return r, nil
}

// follow checks that r comes right after h and returns the new end.
func (h head) follow(r Record) (head, error) {
	switch {
	case r.Prev != h.hash:
		return h, errors.New("it does not continue the line before")
	case r.Seq != h.seq+1:
		return h, fmt.Errorf("its number is %d after %d", r.Seq, h.seq)
	}
	return head{r.Seq, r.Hash}, nil
}
