package mitm

import (
	"io"
	"net/http"
	"sync"
	"testing"
)

// TestWideBuffersComeBack carries more large bodies at once than there are wide
// buffers, and breaks half of them off.
func TestWideBuffersComeBack(t *testing.T) {
	const size = 4 << 20
	r := newRig(t, options{rules: []string{"GET api.test"}})
	addr := r.serve("api.test:443", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range size / streamBuffer {
			w.Write(make([]byte, streamBuffer))
		}
	}))
	c := r.client(addr)
	var all sync.WaitGroup
	for i := range 3 * maxWide {
		all.Go(func() {
			resp, err := c.Get("https://api.test/")
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if i%2 == 0 {
				io.CopyN(io.Discard, resp.Body, size/2)
				return
			}
			if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	all.Wait()
	r.proxy.Close()
	if reads, pieces := len(wideReads.out), len(wideRooms.out); reads+pieces > 0 {
		t.Errorf("%d and %d wide buffers are still lent", reads, pieces)
	}
}

func TestThereAreFewWideBuffers(t *testing.T) {
	l := newLoans(func() any { return new([]byte) })
	for range maxWide {
		if l.take() == nil {
			t.Fatal("none is left too early")
		}
	}
	if l.take() != nil {
		t.Error("one more than there are")
	}
	l.put(new([]byte))
	if l.take() == nil {
		t.Error("one that came back is not lent again")
	}
}
