package caller

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/jail"
)

// hangingFS mounts a FUSE file system of someone's at dir that answers INIT and
// then nothing. asked is closed when the first request has been read: who waits
// for that one cannot be killed until release.
func hangingFS(t *testing.T, dir string) (asked <-chan struct{}, release func()) {
	t.Helper()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(fuse.Fd())
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, someone, someone)
	if err := unix.Mount("hanging", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	released := false
	release = func() {
		if !released {
			released = true
			unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH)
			fuse.Close()
		}
	}
	t.Cleanup(release)
	seen := make(chan struct{})
	go func() {
		buf := make([]byte, 1<<20)
		for requests := 0; ; requests++ {
			if _, err := unix.Read(fd, buf); err != nil {
				return
			}
			if requests == 0 {
				unix.Write(fd, initReply(buf))
			} else if requests == 1 {
				close(seen)
			}
		}
	}()
	return seen, release
}

// initReply answers FUSE_INIT with the version that was asked for.
func initReply(request []byte) []byte {
	out := make([]byte, 16+64)
	le := binary.LittleEndian
	le.PutUint32(out, uint32(len(out)))
	copy(out[8:16], request[8:16])   // unique
	copy(out[16:24], request[40:48]) // major and minor
	le.PutUint32(out[16+20:], 4096)  // max_write
	return out
}

func TestS17_AHangingFileSystemCostsItsOwnerOnly(t *testing.T) {
	dir := playground(t)
	asked, release := hangingFS(t, mkdir(t, dir, "hang"))
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/hang/x"})
	ctx, cancel := context.WithCancelCause(context.Background())
	deadline := errors.New("the deadline")
	c := newChild(t)
	done := make(chan error)
	go func() {
		_, err := Open(ctx, Options{Child: c, Request: r})
		done <- err
	}()
	<-asked
	other := request(playground(t))
	mustOpen(t, other) // while the first one hangs
	cancel(deadline)
	if err := <-done; !errors.Is(err, deadline) {
		t.Errorf("got %v, want the deadline", err)
	}
	if n := stuck(someone); n != 1 {
		t.Errorf("%d abandoned scouts, want 1", n)
	}
	release()
	for stuck(someone) != 0 { // bounded by the test's own timeout
		runtime.Gosched()
	}
}

func stuck(uid uint32) int {
	abandoned.mu.Lock()
	defer abandoned.mu.Unlock()
	return abandoned.count[uid]
}

// A command that leaves a process behind in a session of its own leaves none.
func TestS17_ADaemonisingCommandLeavesNoProcess(t *testing.T) {
	h, err := cgroup.Find()
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("test-caller-%d", os.Getpid())
	instance, err := h.Instance(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Sweep(context.Background(), id) })
	group, err := instance.New("source")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Remove() })
	dir := playground(t)
	valueR, valueW := pipe(t)
	_, errW := pipe(t)
	c := newChild(t)
	c.Group = group
	reply, err := ResolveSource(t.Context(), SourceOptions{
		Child: c, User: user(dir), Value: valueW, Stderr: errW,
		Request: jail.SourceRequest{
			Home: dir + "/home", Env: somePath,
			Sources: []creds.Source{command("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo value")},
		},
	})
	valueW.Close()
	if got := slurp(t, valueR); err != nil || !reply.OK || got != "value\n" {
		t.Fatalf("got %q, %+v, %v", got, reply, err)
	}
	if err := group.WaitEmpty(t.Context()); err != nil {
		t.Fatal(err)
	}
}
