package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// VerifyError names the first line that breaks a chain, counted from 1.
type VerifyError struct {
	Line int
	Err  error
}

func (e *VerifyError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *VerifyError) Unwrap() error { return e.Err }

// Chain is what Verify has read: the numbers of the first and the last record,
// and the hash of the last.
type Chain struct {
	First, Last uint64
	Hash        string
}

// ErrNoRecord is the error of a journal with nothing in it, which proves nothing.
var ErrNoRecord = errors.New("there is no record in it")

// Verify reads a journal file, or several in order, and checks that no line was
// changed, removed or put in. The first line is taken as it is, since a file
// that was set aside begins in the middle of its chain. It returns *VerifyError,
// ErrNoRecord, or the reader's own error. Whoever can rewrite the whole file can
// make a new chain, and lines that were cut off at its end leave one: compare the
// last hash with one that was kept elsewhere.
func Verify(r io.Reader) (Chain, error) {
	lines := newLines(r)
	var first uint64
	var end head
	for n := 1; ; n++ {
		line, err := lines.next()
		if errors.Is(err, io.EOF) && n == 1 {
			return Chain{}, ErrNoRecord
		}
		if errors.Is(err, io.EOF) {
			return Chain{first, end.seq, end.hash}, nil
		}
		if errors.Is(err, errLine) {
			return Chain{}, &VerifyError{n, err}
		}
		if err != nil {
			return Chain{}, err
		}
		rec, err := decode(line)
		if err != nil {
			return Chain{}, &VerifyError{n, err}
		}
		if n == 1 {
			first, end = rec.Seq, head{rec.Seq, rec.Hash}
			continue
		}
		if end, err = end.follow(rec); err != nil {
			return Chain{}, &VerifyError{n, err}
		}
	}
}

// errLine is the error of a line that is none.
var errLine = errors.New("not a line")

// lines reads lines of bounded length.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) lines { return lines{bufio.NewReaderSize(r, maxLine)} }

// next returns a line without its newline, valid until the next call, io.EOF
// at a clean end, or an error that wraps errLine.
func (l lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: longer than %d bytes", errLine, maxLine)
	case errors.Is(err, io.EOF) && len(line) > 0:
		return nil, fmt.Errorf("%w: it is torn: no newline at the end", errLine)
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}
