package spawn

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// end is init's side of a channel under test.
type end struct{ *os.File }

func (e end) send(t *testing.T, msg []byte, fds ...int) {
	t.Helper()
	if err := unix.Sendmsg(int(e.Fd()), msg, unix.UnixRights(fds...), nil, 0); err != nil {
		t.Fatal(err)
	}
}

func newChannel(t *testing.T) (*Channel, end) {
	t.Helper()
	c, f, err := NewChannel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); f.Close() })
	return c, end{f}
}

func TestChannelHandshake(t *testing.T) {
	c, init := newChannel(t)
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(self)
	init.send(t, []byte("R"), self)
	pidfd, err := c.Ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pidfd.Close()
	if err := Signal(pidfd, 0); err != nil {
		t.Errorf("the descriptor is no pidfd: %v", err)
	}
	if err := c.Go(pidfd, pidfd); err != nil {
		t.Fatal(err)
	}
	b, oob := make([]byte, 2), make([]byte, unix.CmsgSpace(4*8))
	n, oobn, _, _, err := unix.Recvmsg(int(init.Fd()), b, oob, unix.MSG_CMSG_CLOEXEC)
	files := rights(oob[:oobn])
	defer closeAll(files)
	if err != nil || string(b[:n]) != "G" || len(files) != 2 {
		t.Fatalf("init read %q with %d files, %v", b[:n], len(files), err)
	}
	init.Close()
	if err := c.Result(t.Context()); err != nil {
		t.Errorf("a closed channel after go: %v", err)
	}
}

func TestChannelReportsFailure(t *testing.T) {
	c, init := newChannel(t)
	want := child.StartError{Stage: child.StepExec, Errno: unix.ENOENT, Text: "/x"}
	init.send(t, child.EncodeStartError(&want))
	var got *child.StartError
	if err := c.Result(t.Context()); !errors.As(err, &got) || *got != want {
		t.Errorf("got %v", err)
	}
}

func TestChannelRefuses(t *testing.T) {
	for name, msg := range map[string][]byte{
		"ready without a pidfd": []byte("R"),
		"another word":          []byte("X"),
		"oversized":             bytes.Repeat([]byte("E"), child.MaxStartPacket+10),
		"a report cut short":    []byte("E\x01"),
	} {
		c, init := newChannel(t)
		init.send(t, msg)
		if f, err := c.Ready(t.Context()); err == nil {
			f.Close()
			t.Errorf("%s was taken for ready", name)
		}
	}
	c, init := newChannel(t)
	init.send(t, []byte("R"), 0, 1, 2)
	if f, err := c.Ready(t.Context()); err == nil {
		f.Close()
		t.Error("three descriptors were taken for one")
	}
	c, init = newChannel(t)
	init.Close()
	if _, err := c.Ready(t.Context()); !errors.Is(err, ErrInitGone) {
		t.Errorf("a dead init: %v", err)
	}
	if err := c.Go(os.Stdin); !errors.Is(err, ErrInitGone) {
		t.Errorf("the go to a dead init: %v", err)
	}
}

func TestChannelObeysItsContext(t *testing.T) {
	c, init := newChannel(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Ready(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// The channel is still usable.
	init.Close()
	if err := c.Result(t.Context()); err != nil {
		t.Errorf("after a cancelled wait: %v", err)
	}
}

func FuzzDecodeStartError(f *testing.F) {
	f.Add([]byte("E\x08\x00\x00\x00\x02/x"))
	f.Add([]byte("R"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := child.DecodeStartError(b)
		if err != nil {
			return
		}
		_ = e.Error()
		if again := child.EncodeStartError(e); !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}
