package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

const hashField = `,"hash":"`

// encoder makes lines. Its room is used again by the next one.
type encoder struct {
	buf   []byte // the hash of the line before, then the line
	comma bool
}

// line returns the line of r, newline included, and sets its Hash. Prev must be
// set. It is valid until the next call.
//
// Every request waits for its line: encoding/json would take several times as long
// to find the fields. What it would write is what this writes, byte for byte.
func (e *encoder) line(r *Record) []byte {
	e.buf = append(e.buf[:0], r.Prev...)
	e.body(r)
	sum := sha256.Sum256(e.buf)
	r.Hash = hex.EncodeToString(sum[:])
	e.buf = append(e.buf, hashField...)
	e.buf = append(e.buf, r.Hash...)
	e.buf = append(e.buf, "\"}\n"...)
	return e.buf[len(r.Prev):]
}

// body writes the members up to the hash, in the order of Record.
func (e *encoder) body(r *Record) {
	e.buf, e.comma = append(e.buf, '{'), false
	e.number("seq", r.Seq, true)
	e.time("time", r.Time)
	e.text("kind", string(r.Kind), true)
	e.text("jail", r.Jail, false)
	e.number("uid", uint64(r.UID), true)
	e.text("id", r.ID, false)
	e.text("policy", r.Policy, false)
	e.number("generation", uint64(r.Generation), false)
	e.text("digest", r.Digest, false)
	e.text("authority", r.Authority, false)
	e.text("method", r.Method, false)
	e.text("path", r.Path, false)
	e.text("rule", r.Rule, false)
	e.text("origin", r.Origin, false)
	e.text("decision", string(r.Decision), false)
	e.text("code", r.Code, false)
	e.text("reason", r.Reason, false)
	e.text("fix", r.Fix, false)
	e.list("stderr", r.Stderr)
	e.text("grant", r.Grant, false)
	e.text("credential", r.Credential, false)
	if r.Status != 0 {
		e.signed("status", r.Status)
	}
	e.number("bytes_in", r.BytesIn, false)
	e.number("bytes_out", r.BytesOut, false)
	e.number("ms", uint64(r.Millis), false)
	e.text("argv0", r.Argv0, false)
	if r.Exit != nil {
		e.signed("exit", *r.Exit)
	}
	e.text("by", r.By, false)
	e.number("count", r.Count, false)
	if !r.First.IsZero() {
		e.time("first", r.First)
	}
	e.text("prev", r.Prev, true)
}

func (e *encoder) name(name string) {
	if e.comma {
		e.buf = append(e.buf, ',')
	}
	e.comma = true
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, name...)
	e.buf = append(e.buf, '"', ':')
}

func (e *encoder) number(name string, v uint64, always bool) {
	if v != 0 || always {
		e.name(name)
		e.buf = strconv.AppendUint(e.buf, v, 10)
	}
}

func (e *encoder) signed(name string, v int) {
	e.name(name)
	e.buf = strconv.AppendInt(e.buf, int64(v), 10)
}

func (e *encoder) time(name string, v time.Time) {
	e.name(name)
	e.buf = append(e.buf, '"')
	e.buf = v.AppendFormat(e.buf, time.RFC3339Nano)
	e.buf = append(e.buf, '"')
}

func (e *encoder) text(name, v string, always bool) {
	if v != "" || always {
		e.name(name)
		e.quote(v)
	}
}

func (e *encoder) list(name string, list []string) {
	if len(list) == 0 {
		return
	}
	e.name(name)
	sep := byte('[')
	for _, v := range list {
		e.buf = append(e.buf, sep)
		e.quote(v)
		sep = ','
	}
	e.buf = append(e.buf, ']')
}

// quote leaves what needs an escape to encoding/json.
func (e *encoder) quote(v string) {
	for i := range len(v) {
		if c := v[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7f {
			b, _ := json.Marshal(v) // a string always encodes
			e.buf = append(e.buf, b...)
			return
		}
	}
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, v...)
	e.buf = append(e.buf, '"')
}
