package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Kind says which message a frame holds.
type Kind uint16

// The kinds. The first group is the daemon's, the second the egress process's.
const (
	KindHello Kind = 1 + iota
	KindAttach
	KindSecret
	KindDetach
	KindAck
	KindFreeze
	KindReplace
)

// The kinds that an egress process may send.
const (
	KindAnswer Kind = 65 + iota
	KindEvent
	KindOutcome
	KindRefresh
	KindGone
	KindEvents
)

// Sizes of a frame, in bytes.
const (
	HeaderSize = 12
	MaxBody    = 16 << 10
)

// MaxFiles is the most descriptors a frame carries: those of an Attach.
const MaxFiles = 1 + MaxListeners + 2*families + 1

// ErrProtocol is wrapped by every error about what the peer sent. The peer is
// then not to be listened to any more.
var ErrProtocol = errors.New("egress protocol")

// Frame is one packet.
type Frame struct {
	Kind  Kind
	Flags uint16
	Seq   uint32
	Body  []byte
	Files []*os.File // received ones belong to the receiver
}

// Close closes the descriptors that came with the frame.
func (f *Frame) Close() {
	for _, file := range f.Files {
		file.Close()
	}
	f.Files = nil
}

func (f *Frame) encode() ([]byte, error) {
	if len(f.Body) > MaxBody {
		return nil, fmt.Errorf("frame of kind %d has %d bytes, more than %d", f.Kind, len(f.Body), MaxBody)
	}
	b := make([]byte, HeaderSize, HeaderSize+len(f.Body))
	binary.LittleEndian.PutUint16(b[0:], uint16(f.Kind))
	binary.LittleEndian.PutUint16(b[2:], f.Flags)
	binary.LittleEndian.PutUint32(b[4:], f.Seq)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(f.Body)))
	return append(b, f.Body...), nil
}

// parseFrame splits one packet. The body is a copy.
func parseFrame(b []byte) (Frame, error) {
	f, err := splitFrame(b)
	f.Body = slices.Clone(f.Body)
	return f, err
}

// splitFrame splits one packet, of which the body remains a part.
func splitFrame(b []byte) (Frame, error) {
	if len(b) < HeaderSize {
		return Frame{}, fmt.Errorf("%w: packet of %d bytes has no header", ErrProtocol, len(b))
	}
	n := binary.LittleEndian.Uint32(b[8:])
	if n > MaxBody || int(n) != len(b)-HeaderSize {
		return Frame{}, fmt.Errorf("%w: header says %d bytes, %d came", ErrProtocol, n, len(b)-HeaderSize)
	}
	return Frame{
		Kind:  Kind(binary.LittleEndian.Uint16(b[0:])),
		Flags: binary.LittleEndian.Uint16(b[2:]),
		Seq:   binary.LittleEndian.Uint32(b[4:]),
		Body:  b[HeaderSize:],
	}, nil
}
