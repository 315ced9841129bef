package child

import "encoding/binary"

// launchReader takes fields off the front of b. After the first field that does
// not fit, bad is set and every further read yields zero.
type launchReader struct {
	b   []byte
	bad bool
}

func (r *launchReader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *launchReader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *launchReader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *launchReader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *launchReader) flag() bool {
	b := r.u8()
	if b > 1 {
		r.bad = true
	}
	return b == 1
}

// count reads a number of elements of at least size bytes each. A count that
// the remaining bytes cannot hold is refused before anything is allocated.
func (r *launchReader) count(most, size int) int {
	n := r.u32()
	if r.bad || n > uint32(most) || int64(n)*int64(size) > int64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *launchReader) bytes() []byte {
	n := r.u32()
	if n > MaxLaunch {
		r.bad = true
		return nil
	}
	return r.take(int(n))
}

func (r *launchReader) list() [][]byte {
	out := make([][]byte, r.count(MaxLaunch/4, 4))
	for i := range out {
		out[i] = r.bytes()
	}
	return out
}
