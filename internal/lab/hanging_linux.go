package lab

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// parallelLookups lets the kernel ask before an earlier answer.
const parallelLookups = 1 << 18

// HangingFS mounts a FUSE file system of a user's at dir that answers INIT and then
// nothing. Each request that hangs is told on asked: who waits for it cannot be
// killed until release.
func HangingFS(t testing.TB, dir string, uid int) (asked <-chan struct{}, release func()) {
	t.Helper()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(fuse.Fd())
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, uid, uid)
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
	hangs := make(chan struct{}, 1000)
	go func() {
		request := make([]byte, 1<<20)
		for first := true; ; first = false {
			if _, err := unix.Read(fd, request); err != nil {
				return
			}
			if first {
				unix.Write(fd, initReply(request))
			} else {
				hangs <- struct{}{}
			}
		}
	}()
	return hangs, release
}

// initReply answers FUSE_INIT with the version that was asked for.
func initReply(request []byte) []byte {
	out := make([]byte, 16+64)
	le := binary.LittleEndian
	le.PutUint32(out, uint32(len(out)))
	copy(out[8:16], request[8:16])   // whose answer it is
	copy(out[16:24], request[40:48]) // major and minor
	le.PutUint32(out[28:], parallelLookups)
	le.PutUint32(out[36:], 4096) // max_write
	return out
}
