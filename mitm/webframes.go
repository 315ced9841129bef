package mitm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/omnijail/omnijail/creds"
)

// The head of a WebSocket's frame (RFC 6455 section 5.2).
const (
	frameFinal    = 0x80 // in the first byte: the message ends with this frame
	frameReserved = 0x70 // of extensions, of which there is none
	frameOpcode   = 0x0f
	frameControl  = 0x08 // in the opcode: close, ping, pong
	frameText     = 0x1
	frameBinary   = 0x2
	maxOpcode     = 0xa
	frameMasked   = 0x80 // in the second byte; clients alone do that
	maxControl    = 125
	framePiece    = 16 << 10 // of a longer frame is sent at once, as a frame of its own
)

// errFrames ends a WebSocket whose server sends what could hide a secret.
var errFrames = errors.New("the upstream sends no frames of a WebSocket without extensions")

// webFrames reads what a server sends over a WebSocket and makes frames anew of it
// in which secrets are masked. A message keeps its type, its length and, up to
// framePiece, its frames; what could be the beginning of a secret goes on with the
// next frame of the message.
type webFrames struct {
	r     *bufio.Reader
	scrub func() *creds.Scrubber
	hit   func(hits int) error

	message *creds.Scrubber // searches the message under way, nil between messages
	opcode  byte            // for the next frame of it that goes on
	final   bool            // the frame that is being read ends it
	left    uint64          // bytes of that frame

	out []byte // goes on
	err error  // follows out
}

func newWebFrames(r io.Reader, scrub func() *creds.Scrubber, hit func(int) error) *webFrames {
	return &webFrames{r: bufio.NewReaderSize(r, framePiece), scrub: scrub, hit: hit}
}

func (f *webFrames) Read(p []byte) (int, error) {
	for len(f.out) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.err = f.next()
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

// next reads a head, or a piece of the frame under way.
func (f *webFrames) next() error {
	if f.left > 0 {
		return f.piece()
	}
	first, length, err := f.head()
	if err != nil {
		return err
	}
	opcode := first & frameOpcode
	switch {
	case opcode&frameControl != 0:
		return f.controlFrame(first, length)
	case opcode == 0 && f.message == nil, opcode != 0 && f.message != nil, opcode > frameBinary:
		return errFrames
	case opcode != 0:
		f.message, f.opcode = f.scrub(), opcode
	}
	f.left, f.final = length, first&frameFinal != 0
	return f.piece()
}

// head reads a frame's head. Its end is where a server may end the connection.
func (f *webFrames) head() (first byte, length uint64, err error) {
	if first, err = f.r.ReadByte(); err != nil {
		return 0, 0, err
	}
	second, err := f.r.ReadByte()
	if err != nil {
		return 0, 0, errFrames
	}
	if first&frameReserved != 0 || second&frameMasked != 0 || first&frameOpcode > maxOpcode {
		return 0, 0, errFrames
	}
	var long [8]byte
	switch length = uint64(second); length {
	case 126:
		_, err = io.ReadFull(f.r, long[6:])
		length = binary.BigEndian.Uint64(long[:])
	case 127:
		_, err = io.ReadFull(f.r, long[:])
		length = binary.BigEndian.Uint64(long[:])
	}
	if err != nil || length > math.MaxInt64 {
		return 0, 0, errFrames
	}
	return first, length, nil
}

// piece passes on the frame under way, or the next part of a long one.
func (f *webFrames) piece() error {
	b := make([]byte, min(f.left, framePiece))
	if _, err := io.ReadFull(f.r, b); err != nil {
		return errFrames
	}
	f.left -= uint64(len(b))
	out, hits := f.message.Next(b)
	if err := f.hit(hits); err != nil {
		return err
	}
	ends := f.final && f.left == 0
	if ends {
		out = append(out[:len(out):len(out)], f.message.Rest()...)
		f.message = nil
	}
	if ends || len(out) > 0 {
		f.emit(f.opcode, ends, out)
		f.opcode = 0
	}
	return nil
}

// controlFrame passes on a close, ping or pong, which may stand inside a message.
func (f *webFrames) controlFrame(first byte, length uint64) error {
	if first&frameFinal == 0 || length > maxControl {
		return errFrames
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(f.r, b); err != nil {
		return errFrames
	}
	scrub := f.scrub()
	out, hits := scrub.Next(b)
	if err := f.hit(hits); err != nil {
		return err
	}
	f.emit(first&frameOpcode, true, append(out[:len(out):len(out)], scrub.Rest()...))
	return nil
}

// emit adds a frame to what goes on.
func (f *webFrames) emit(opcode byte, final bool, payload []byte) {
	if final {
		opcode |= frameFinal
	}
	f.out = append(f.out[:0], opcode)
	switch n := len(payload); {
	case n < 126:
		f.out = append(f.out, byte(n))
	case n <= math.MaxUint16:
		f.out = binary.BigEndian.AppendUint16(append(f.out, 126), uint16(n))
	default:
		f.out = binary.BigEndian.AppendUint64(append(f.out, 127), uint64(n))
	}
	f.out = append(f.out, payload...)
}
