package spawn

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxStatusLine bounds one line of a status stream in bytes.
const maxStatusLine = 4096

// ErrNoExit says that a jail ended without reporting its command's exit: it was
// killed, or never came to start one.
var ErrNoExit = errors.New("the jail ended before its command's exit was reported")

// ReadExit reads a backend's status stream (one JSON object per line) to its end
// and returns the command's exit code: its own, or 128 and the signal. The
// backend is ours and runs apart from the command; the stream is bounded all the
// same.
func ReadExit(status io.Reader) (int, error) {
	lines := bufio.NewScanner(status)
	lines.Buffer(make([]byte, 0, 512), maxStatusLine)
	code := -1
	for lines.Scan() {
		var line struct {
			Exit *int `json:"exit-code"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return 0, fmt.Errorf("status of the jail: %w", err)
		}
		if line.Exit != nil {
			code = *line.Exit
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("status of the jail: %w", err)
	}
	if code < 0 || code > 255 {
		return 0, ErrNoExit
	}
	return code, nil
}
