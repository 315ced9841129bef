package caller

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// errGone is what the end of a scout's connection means to its user.
var errGone = errors.New("the process that looks at your files as you has ended too soon: it was killed, or had no memory left")

// gone puts errGone in the place of how that looked.
func gone(err error) error {
	for _, e := range []error{io.EOF, unix.EPIPE, unix.ECONNRESET} {
		if errors.Is(err, e) {
			return errGone
		}
	}
	return err
}
