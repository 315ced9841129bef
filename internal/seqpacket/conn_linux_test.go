package seqpacket

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type message struct{ Text string }

func pair(t *testing.T) (a, b *Conn) {
	t.Helper()
	a, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	b = New(theirs)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestMessagesOfAnySizeArriveWhole(t *testing.T) {
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, tt := range []struct{ bytes, files int }{{0, 0}, {1, 1}, {chunkBytes, 0}, {500_000, 3}, {10, 200}, {100_000, 129}} {
		a, b := pair(t)
		files := make([]*os.File, tt.files)
		for i := range files {
			files[i] = null
		}
		sent := make(chan error, 1)
		go func() { sent <- a.Send(message{strings.Repeat("x", tt.bytes)}, files...) }()
		var got message
		fs, err := b.Recv(&got)
		if err != nil || len(got.Text) != tt.bytes || len(fs) != tt.files {
			t.Errorf("%+v: got %d bytes, %d files, %v", tt, len(got.Text), len(fs), err)
		}
		if err := <-sent; err != nil {
			t.Errorf("%+v: send: %v", tt, err)
		}
		CloseAll(fs)
	}
}

func TestRecvRefuses(t *testing.T) {
	for name, packets := range map[string][]string{
		"unknown field":  {"\x00" + `{"Text":"","Evil":1}`},
		"trailing data":  {"\x00" + `{"Text":""}{}`},
		"not JSON":       {"\x00" + `hello`},
		"unknown flag":   {"\x02{}"},
		"wrong type":     {"\x00[]"},
		"a long packet":  {"\x00" + strings.Repeat(" ", chunkBytes+1)},
		"an empty value": {"\x00"},
	} {
		a, b := pair(t)
		for _, p := range packets {
			if err := a.raw(false, func(fd int) error { return unix.Sendmsg(fd, []byte(p), nil, nil, 0) }); err != nil {
				t.Fatal(err)
			}
		}
		var got message
		if _, err := b.Recv(&got); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestRecvBoundsAMessageWithoutEnd(t *testing.T) {
	a, b := pair(t)
	go func() {
		packet := append([]byte{more}, make([]byte, chunkBytes)...)
		for a.raw(false, func(fd int) error { return unix.Sendmsg(fd, packet, nil, nil, unix.MSG_NOSIGNAL) }) == nil {
		}
	}()
	var got message
	if _, err := b.Recv(&got); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Fatalf("got %v, want a refusal by size", err)
	}
	b.Close()
}

func TestRecvAtTheEnd(t *testing.T) {
	a, b := pair(t)
	a.Close()
	if _, err := b.Recv(&message{}); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want io.EOF", err)
	}
}

func TestDeadlineEndsRecv(t *testing.T) {
	a, _ := pair(t)
	a.SetDeadline(time.Now())
	if _, err := a.Recv(&message{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %v, want a deadline error", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Text":"a"}`))
	f.Add([]byte(`{"Text":"a"} x`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m message
		if decode(b, &m) != nil {
			return
		}
		if decode(append(b, '1'), &m) == nil {
			t.Fatal("a value with something after it was accepted")
		}
	})
}
