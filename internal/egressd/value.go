package egressd

import (
	"errors"
	"io"
	"math"
	"os"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// valueTimeout is how long a source may take to write its value.
const valueTimeout = 30 * time.Second

// readValue reads a secret for the first time: no process of ours has looked at
// these bytes before.
func readValue(by wire.Delivery, f *os.File) (creds.Secret, wire.Result) {
	switch by {
	case wire.ByMemfd:
		if !wire.Sealed(f) {
			return creds.Secret{}, wire.NotSealed
		}
		// By position: the client left it at its end, and bindings with the same
		// source hold one open file, so reading one would move the others.
		s, err := creds.Read(io.NewSectionReader(f, 0, math.MaxInt64))
		return s, resultOf(err)
	case wire.ByPipe:
		if err := f.SetReadDeadline(time.Now().Add(valueTimeout)); err != nil {
			return creds.Secret{}, wire.Broken // a descriptor that can block for ever
		}
	default:
		return creds.Secret{}, wire.NoValue
	}
	s, err := creds.Read(f)
	return s, resultOf(err)
}

func resultOf(err error) wire.Result {
	switch {
	case err == nil:
		return wire.Got
	case errors.Is(err, creds.ErrNoValue):
		return wire.NoValue
	case errors.Is(err, os.ErrDeadlineExceeded):
		return wire.Late
	}
	return wire.BadValue
}

// readText returns the beginning of what a source wrote to its stderr, until it
// closed it.
func readText(f *os.File) string {
	if f == nil || f.SetReadDeadline(time.Now().Add(valueTimeout)) != nil {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(f, wire.MaxText)) // what came before an error is still of use
	return string(b)
}
