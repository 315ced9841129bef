package main

import (
	"io"
	"strings"
	"testing"
)

// What was typed before the key that detaches still arrives, and nothing after it.
func TestTypedEndsAtTheDetachKey(t *testing.T) {
	for in, want := range map[string]string{"ls\r\x1dx": "ls\r", "\x1d": "", "a\x1d\x1d": "a"} {
		var got strings.Builder
		detached := 0
		in := &typed{in: strings.NewReader(in), detach: func() {
			detached++
			if got.String() != want {
				t.Errorf("detached after %q, want %q", got.String(), want)
			}
		}}
		if _, err := io.Copy(&got, in); err != nil || detached != 1 || got.String() != want {
			t.Errorf("%q: detached %d times, %v", got.String(), detached, err)
		}
	}
	var got strings.Builder
	if io.Copy(&got, &typed{in: strings.NewReader("a\x1db")}); got.String() != "a\x1db" {
		t.Errorf("without detaching: %q", got.String())
	}
}
