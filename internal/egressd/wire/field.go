package wire

import (
	"encoding/binary"
	"fmt"
)

// fields builds a body.
type fields []byte

func (b *fields) u8(v uint8)   { *b = append(*b, v) }
func (b *fields) u16(v uint16) { *b = binary.LittleEndian.AppendUint16(*b, v) }
func (b *fields) u32(v uint32) { *b = binary.LittleEndian.AppendUint32(*b, v) }
func (b *fields) u64(v uint64) { *b = binary.LittleEndian.AppendUint64(*b, v) }

// text appends s, cut to limit bytes.
func (b *fields) text(s string, limit int) {
	if len(s) > limit {
		s = s[:limit]
	}
	b.u16(uint16(len(s)))
	*b = append(*b, s...)
}

// reader takes a body apart. The first error sticks, and every later read gives
// zero, so that a decoder reads all its fields and asks once.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
	}
	r.b = nil
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n > len(r.b) {
		r.fail("body ends early")
		return make([]byte, n) // n is a field's width or below a field's cap
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() uint8   { return r.take(1)[0] }
func (r *reader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// text reads a string of at most limit bytes; it stays opaque.
func (r *reader) text(limit int) string {
	n := int(r.u16())
	if n > limit {
		r.fail("string of %d bytes, more than %d", n, limit)
		return ""
	}
	return string(r.take(n))
}

// index reads a place in a list: -1 or 0 to limit-1.
func (r *reader) index(limit int) int32 {
	v := int32(r.u32())
	if v < -1 || int(v) >= limit {
		r.fail("index %d out of range", v)
	}
	return v
}

// end reports the first error, a body that goes on being one.
func (r *reader) end() error {
	if r.err == nil && len(r.b) != 0 {
		r.fail("%d bytes after the last field", len(r.b))
	}
	return r.err
}
