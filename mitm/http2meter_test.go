package mitm

import (
	"bytes"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// TestFramesInPieces finds the same frames however the bytes arrive.
func TestFramesInPieces(t *testing.T) {
	var wire bytes.Buffer
	wire.WriteString(http2.ClientPreface)
	fr := http2.NewFramer(&wire, nil)
	fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 300)})
	fr.WriteContinuation(1, true, nil)
	fr.WriteData(1, true, make([]byte, 70000))
	fr.WriteRSTStream(1, http2.ErrCodeCancel)
	want := []frame{
		{6, 4, 0}, {300, frameHeaders, 0}, {0, frameContinuation, flagEndHeaders}, {70000, frameData, flagEndStream}, {4, frameReset, 0},
	}
	for size := 1; size < 40; size++ {
		s := frames{skip: prefaceLength}
		var got []frame
		for piece := range slices.Chunk(wire.Bytes(), size) {
			s.scan(piece, func(f frame) { got = append(got, f) })
		}
		if !slices.Equal(got, want) {
			t.Fatalf("in pieces of %d: %v, want %v", size, got, want)
		}
	}
}

// TestHTTP2HeadWithoutEnd is cut off after its time, and a complete one is not.
func TestHTTP2HeadWithoutEnd(t *testing.T) {
	for _, complete := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			jail, inner := net.Pipe()
			defer jail.Close()
			m := newMeter(inner, func() { t.Error("called a flood") }, func(time.Duration) {})
			began := time.Now()
			ended := make(chan time.Duration, 1)
			go func() {
				io.Copy(io.Discard, m)
				ended <- time.Since(began)
			}()
			io.WriteString(jail, http2.ClientPreface)
			fr := http2.NewFramer(jail, nil)
			fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			time.Sleep(headerTimeout - time.Second)
			fr.WriteContinuation(1, complete, nil)
			if complete {
				time.Sleep(time.Hour)
				jail.Close()
			}
			if took := <-ended; (took == headerTimeout) == complete {
				t.Errorf("complete %v: ended after %v", complete, took)
			}
		})
	}
}
