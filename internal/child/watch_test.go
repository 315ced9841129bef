package child

import (
	"bytes"
	"strings"
	"testing"
)

func TestS08_FramesOfAWatchingScout(t *testing.T) {
	for _, f := range []WatchFrame{
		{Kind: WatchReady},
		{WatchMoved, ClassHook, "/w/.git/hooks/pre-commit", "/w/x\n\x00"},
		{WatchFailed, ClassBroken, strings.Repeat("x", MaxWatchText), strings.Repeat("y", MaxWatchText)},
	} {
		b := EncodeWatch(f)
		if got, err := DecodeWatch(b); err != nil || got != f {
			t.Errorf("%.80v became %.80v, %v", f, got, err)
		}
		if len(b) > MaxWatchFrame {
			t.Errorf("%d bytes", len(b))
		}
		for _, damaged := range [][]byte{b[:len(b)-1], append(bytes.Clone(b), 0), append([]byte{0}, b[1:]...), append([]byte{200}, b[1:]...), append([]byte{b[0], 200}, b[2:]...), nil} {
			if got, err := DecodeWatch(damaged); err == nil {
				t.Errorf("%.20q was read as %.80v", damaged, got)
			}
		}
	}
}

func FuzzWatchFrame(f *testing.F) {
	f.Add(EncodeWatch(WatchFrame{WatchMoved, ClassHook, "/a", "/b"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := DecodeWatch(b)
		if err == nil && !bytes.Equal(EncodeWatch(frame), b) {
			t.Errorf("%q has two spellings", b)
		}
	})
}
