package scout

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// Whatever is written in whatever pieces, a reader that comes at any time gets the
// end of it, at most as much as it asked for and the ring holds.
func TestARingKeepsTheEndOfAStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		r := newRing(1 + rng.IntN(64))
		var all []byte
		for range rng.IntN(20) {
			piece := make([]byte, rng.IntN(100))
			for i := range piece {
				piece[i] = byte(rng.Uint32())
			}
			r.Write(piece)
			all = append(all, piece...)
		}
		back := rng.IntN(100)
		got, err := io.ReadAll(r.from(back, false))
		want := all[max(0, len(all)-min(back, len(r.buf))):]
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("ring of %d, back %d: got %x, want %x, %v", len(r.buf), back, got, want, err)
		}
	}
}

// A reader that does not read holds nobody up, and loses what was overwritten.
func TestARingDoesNotWaitForReaders(t *testing.T) {
	r := newRing(8)
	slow := r.from(8, true)
	for range 1000 {
		r.Write([]byte("0123456789"))
	}
	r.close()
	if got, err := io.ReadAll(slow); err != nil || string(got) != "23456789" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAFollowerGetsWhatComes(t *testing.T) {
	r := newRing(64)
	done := make(chan string)
	go func() {
		got, _ := io.ReadAll(r.from(64, true))
		done <- string(got)
	}()
	r.Write([]byte("one "))
	r.Write([]byte("two"))
	r.close()
	if got := <-done; got != "one two" {
		t.Errorf("got %q", got)
	}
}
