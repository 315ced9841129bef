package creds

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// MaxSecret is the longest value, in bytes.
const MaxSecret = 64 << 10

const redacted = "[redacted]"

// ErrNoValue says that a source exists and yields nothing.
var ErrNoValue = errors.New("the source yields no value")

// Secret is a value that authenticates. Every way of printing or encoding it
// gives "[redacted]"; Reveal is the only way out. The zero Secret holds nothing.
//
// The bytes are in a closure because fmt answers verbs that it does not know, %p
// among them, with the fields of a struct, past every method.
type Secret struct{ reveal func() []byte }

// NewSecret copies b. Empty values give ErrNoValue; long ones and those with
// control characters, which would end a header line, are refused. Errors never
// quote the value.
func NewSecret(b []byte) (Secret, error) {
	switch {
	case len(b) == 0:
		return Secret{}, ErrNoValue
	case len(b) > MaxSecret:
		return Secret{}, fmt.Errorf("the value is longer than %d bytes", MaxSecret)
	case bytes.ContainsFunc(b, isControl):
		return Secret{}, errors.New("the value holds a line break, NUL or another control character")
	}
	value := bytes.Clone(b)
	return Secret{reveal: func() []byte { return value }}, nil
}

// Read reads a value to the end of r, a pipe, a file or a memfd, and removes one
// trailing newline. A deadline is the caller's to set.
func Read(r io.Reader) (Secret, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxSecret+3)) // room for CR, LF and the byte too many
	defer clear(b)
	if err != nil {
		return Secret{}, fmt.Errorf("read the value: %w", err)
	}
	v := b
	if n := len(v); n > 0 && v[n-1] == '\n' {
		v = bytes.TrimSuffix(v[:n-1], []byte{'\r'})
	}
	return NewSecret(v)
}

// Reveal returns the value itself, not a copy: it must not be changed or kept.
func (s Secret) Reveal() []byte {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

// Len is the length of the value in bytes.
func (s Secret) Len() int { return len(s.Reveal()) }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Format implements fmt.Formatter for every verb.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// String implements fmt.Stringer.
func (s Secret) String() string { return redacted }

// MarshalText implements encoding.TextMarshaler, which JSON uses too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
