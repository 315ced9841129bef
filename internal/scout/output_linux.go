package scout

import "bytes"

// limited keeps all that is written and fails beyond its limit.
type limited struct {
	limit int
	buf   bytes.Buffer
}

func (w *limited) Write(b []byte) (int, error) {
	if w.buf.Len()+len(b) > w.limit {
		return 0, errTooLong
	}
	return w.buf.Write(b)
}

// tail keeps the last bytes that are written: where an error says what it is.
type tail struct {
	limit int
	buf   []byte
}

func (w *tail) Write(b []byte) (int, error) {
	w.buf = append(w.buf, b...)
	if over := len(w.buf) - w.limit; over > 0 {
		w.buf = append(w.buf[:0], w.buf[over:]...)
	}
	return len(b), nil
}
