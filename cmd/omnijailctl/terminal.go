package main

import (
	"bytes"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/omnijail/omnijail/api"
)

// terminal joins the caller's terminal to the jail's PTY, and gives the caller's
// terminal back as it was.
type terminal struct {
	mu    sync.Mutex
	fd    int
	state *term.State
	done  chan struct{}

	detach func() // Ctrl-] was typed; nil where that is a byte like any other
	held   func() // Ctrl-Z was typed, and the kernel drops it; called once
}

func terminalSize() *api.Size {
	for _, f := range []*os.File{os.Stdout, os.Stdin, os.Stderr} {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil {
			return &api.Size{Rows: uint16(h), Cols: uint16(w)}
		}
	}
	return &api.Size{Rows: 24, Cols: 80}
}

// detachKey is the byte that Ctrl-] types.
const detachKey = 0x1d

// typed is standard input up to the key that detaches.
type typed struct {
	in     io.Reader
	detach func() // called once what was typed before has been taken; nil for never
	over   bool
	held   func(keys []byte) // sees what was typed; nil for nobody
}

func (t *typed) Read(b []byte) (int, error) {
	if t.over {
		t.detach()
		return 0, io.EOF
	}
	n, err := t.in.Read(b)
	if t.held != nil && n > 0 {
		t.held(b[:n])
	}
	if t.detach == nil {
		return n, err
	}
	if at := bytes.IndexByte(b[:n], detachKey); at >= 0 {
		t.over = true
		return at, nil
	}
	return n, err
}

// endOfInput is what a terminal takes for the end of what is typed (Ctrl-D).
const endOfInput = 4

// attach starts copying. Input is raw from here on: Ctrl-C is a byte that the
// jail's own line discipline turns into a signal.
func (t *terminal) attach(master *os.File) {
	t.done = make(chan struct{})
	if isTerminal(os.Stdin) {
		if st, err := term.MakeRaw(int(os.Stdin.Fd())); err == nil {
			t.mu.Lock()
			t.fd, t.state = int(os.Stdin.Fd()), st
			t.mu.Unlock()
		}
	}
	go func() {
		_, err := io.Copy(master, &typed{in: os.Stdin, detach: t.detach, held: t.heldBack(master)})
		if err == nil && !isTerminal(os.Stdin) && t.detach == nil {
			master.Write([]byte{endOfInput})
		}
	}()
	go func() {
		io.Copy(os.Stdout, master) // ends with EIO when the last slave is closed
		close(t.done)
	}()
}

// heldBack returns what says of the first Ctrl-Z without effect that it has none.
func (t *terminal) heldBack(master *os.File) func(keys []byte) {
	said := t.held == nil
	return func(keys []byte) {
		if !said && heldBack(master, keys) {
			said = true
			t.held()
		}
	}
}

// drain waits for the rest of the output and restores the terminal.
func (t *terminal) drain() {
	if t.done != nil {
		<-t.done
	}
	t.restore()
}

// restore may be called at any time, more than once.
func (t *terminal) restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != nil {
		term.Restore(t.fd, t.state)
		t.state = nil
	}
}

// raw reports whether the caller's terminal is in raw mode.
func (t *terminal) raw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state != nil
}
