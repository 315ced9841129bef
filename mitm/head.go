package mitm

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
)

const (
	maxHead   = 64 << 10 // bytes of request line and headers, and the size of a read buffer
	maxFields = 100
)

// single lists the fields that a request may carry once. With two of them the
// upstream might read the one that we did not judge.
var single = [...]string{
	fieldHost:   "host",
	fieldLength: "content-length",
	fieldCoding: "transfer-encoding",
	"authorization", "content-type", "content-encoding", "expect", "proxy-authorization",
}

const (
	fieldHost = iota
	fieldLength
	fieldCoding
)

// singleField is the number of a field in single, -1 for one that is not there. Most
// are not, and of those nothing is copied.
func singleField[T string | []byte](name T) int {
	for i, s := range single {
		if len(s) == len(name) && strings.EqualFold(s, string(name)) {
			return i
		}
	}
	return -1
}

// readRequest reads one request head from br. The scan before the parse is what
// makes the parse safe: it refuses each thing that net/http would repair. A
// refusal of this function means that framing is lost and the connection must
// end; an error means that the client went away.
func readRequest(br *bufio.Reader) (*http.Request, *refusal, error) {
	head, no, err := peekHead(br)
	if no != nil || err != nil {
		return nil, no, err
	}
	host, err := scanHead(head)
	if err != nil {
		if errors.Is(err, errFields) {
			return nil, refuseHeaders(), nil
		}
		return nil, badRequest(err.Error()), nil
	}
	req, err := http.ReadRequest(br)
	if err != nil {
		return nil, badRequest("not a request that can be parsed"), nil
	}
	req.Host = host // the parser prefers the target's, so the two would never be compared
	return req, nil, nil
}

// peekHead returns the head up to its empty line without consuming it.
func peekHead(br *bufio.Reader) ([]byte, *refusal, error) {
	seen := 0
	for {
		b, err := br.Peek(max(br.Buffered(), seen+1))
		if n := headEnd(b, seen); n > 0 {
			return b[:n], nil, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, refuseHeaders(), nil
		case err != nil:
			return nil, nil, err
		}
		seen = len(b)
	}
}

// headEnd returns the length of the head in b, 0 if its end is not there yet.
// What was seen before needs no second look but for its last bytes.
func headEnd(b []byte, seen int) int {
	for i := max(0, seen-3); ; {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			return 0
		}
		i += j + 1
		rest := b[i:]
		if bytes.HasPrefix(rest, []byte("\n")) {
			return i + 1
		}
		if bytes.HasPrefix(rest, []byte("\r\n")) {
			return i + 2
		}
	}
}

var errFields = errors.New("too many header fields")

// scanHead checks a whole head, byte by byte, against the strict reading of
// RFC 9112, and returns the value of Host.
func scanHead(head []byte) (host string, err error) {
	line, rest, err := cutLine(head)
	if err != nil {
		return "", err
	}
	minor, err := scanRequestLine(line)
	if err != nil {
		return "", err
	}
	var f framing
	for n := 0; ; n++ {
		if line, rest, err = cutLine(rest); err != nil {
			return "", err
		}
		if len(line) == 0 {
			return f.value[fieldHost], f.check(minor)
		}
		if n == maxFields {
			return "", errFields
		}
		name, value, err := scanField(line)
		if err != nil {
			return "", err
		}
		if i := singleField(name); i >= 0 {
			if err := f.add(i, string(value)); err != nil {
				return "", err
			}
		}
	}
}

// cutLine takes one line off b. A line ends in CR LF and holds neither alone.
func cutLine(b []byte) (line, rest []byte, err error) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 || b[i-1] != '\r' {
		return nil, nil, errors.New("a line does not end in CR LF")
	}
	return b[:i-1], b[i+1:], nil
}

// scanRequestLine checks METHOD SP TARGET SP VERSION and returns the minor version.
func scanRequestLine(line []byte) (minor byte, err error) {
	method, rest, ok1 := bytes.Cut(line, []byte(" "))
	target, version, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok1 || !ok2 || len(target) == 0 {
		return 0, errors.New("the request line is not METHOD TARGET VERSION")
	}
	if err := scanMethod(string(method)); err != nil {
		return 0, err
	}
	if err := scanTarget(string(target)); err != nil {
		return 0, err
	}
	switch string(version) {
	case "HTTP/1.1":
		return 1, nil
	case "HTTP/1.0":
		return 0, nil
	}
	return 0, errors.New("the version is neither HTTP/1.1 nor HTTP/1.0")
}

func scanMethod(s string) error {
	if s == "" || len(s) > 16 || strings.ContainsFunc(s, func(c rune) bool { return c < 'A' || c > 'Z' }) {
		return errors.New("the method is not an upper-case word")
	}
	return nil
}

func scanTarget(s string) error {
	if strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }) {
		return errors.New("the target holds a byte that no URI has")
	}
	return nil
}

// scanField splits one header line. Folded lines and blanks before the colon
// are refused with the other odd names.
func scanField(line []byte) (name, value []byte, err error) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) == 0 || slices.ContainsFunc(name, func(c byte) bool { return !isToken(c) }) {
		return nil, nil, errors.New("a header field has no proper name")
	}
	if slices.ContainsFunc(value, func(c byte) bool { return (c < ' ' && c != '\t') || c == 0x7f }) {
		return nil, nil, errors.New("a header value holds a control byte")
	}
	return name, bytes.Trim(value, " \t"), nil
}

func isToken(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// framing gathers the fields that say where a message ends and who it is for.
type framing struct {
	seen  [len(single)]bool
	value [len(single)]string
}

// add takes a field of single by its number.
func (f *framing) add(field int, value string) error {
	if f.seen[field] {
		return errors.New("the header " + http.CanonicalHeaderKey(single[field]) + " is there twice")
	}
	f.seen[field], f.value[field] = true, value
	return nil
}

func (f *framing) has(field int) (value string, ok bool) { return f.value[field], f.seen[field] }

func (f *framing) check(minor byte) error {
	length, hasLength := f.has(fieldLength)
	coding, hasCoding := f.has(fieldCoding)
	switch {
	case minor == 1 && !f.seen[fieldHost]:
		return errors.New("the header Host is missing")
	case hasLength && hasCoding:
		return errors.New("both Content-Length and Transfer-Encoding are there")
	case hasLength && !isLength(length):
		return errors.New("Content-Length is not a plain number")
	case hasCoding && (minor == 0 || !strings.EqualFold(coding, "chunked")):
		return errors.New("Transfer-Encoding is not chunked")
	}
	return nil
}

func isLength(s string) bool {
	return len(s) > 0 && len(s) <= 18 && strings.Trim(s, "0123456789") == ""
}

// lengthIs reports whether s, which isLength, says n.
func lengthIs(s string, n int64) bool {
	v, err := strconv.ParseInt(s, 10, 64)
	return err == nil && v == n
}

// refuseHeaders is the answer to a head beyond the limits.
func refuseHeaders() *refusal {
	return refuse(http.StatusRequestHeaderFieldsTooLarge, audit.CodeHeaders,
		"the request's head is larger than 64 KiB or has more than 100 fields")
}

func badRequest(reason string) *refusal {
	return refuse(http.StatusBadRequest, audit.CodeBadRequest, reason)
}
