package stage

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// What has no room left is told apart from what has, and bytes from names.
func TestSpaceThatIsFull(t *testing.T) {
	var s Space
	defer s.Close()
	add := func(at string) string {
		t.Helper()
		fd, err := newTmpfs(0o700, 0, 0, 1<<20, quiet)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := s.hold(at, fd); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("/proc/self/fd/%d", s.rooms[len(s.rooms)-1].fd)
	}
	add("/home/u")
	tmp := add("/tmp")
	if full, ok := s.Full(); ok {
		t.Fatalf("full before anything was written: %+v", full)
	}
	fill(t, tmp+"/file", 2<<20)
	if full, ok := s.Full(); !ok || full != (Full{At: "/tmp", Size: 1 << 20}) {
		t.Errorf("full: %+v, %v", full, ok)
	}
	if err := unix.Unlink(tmp + "/file"); err != nil {
		t.Fatal(err)
	}
	if full, ok := s.Full(); ok {
		t.Errorf("full after all was removed: %+v", full)
	}
	s.Close()
	if full, ok := s.Full(); ok {
		t.Errorf("let go of, and full: %+v", full)
	}
}

// A file system may run out of names long before it runs out of bytes.
func TestSpaceOutOfNames(t *testing.T) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fs)
	fd := -1
	if err = unix.FsconfigSetString(fs, "nr_inodes", "1"); err == nil { // its root
		err = unix.FsconfigCreate(fs)
	}
	if err == nil {
		fd, err = unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var s Space
	defer s.Close()
	if err := s.hold("/tmp", fd); err != nil {
		t.Fatal(err)
	}
	if full, ok := s.Full(); !ok || full.Names != 1 {
		t.Errorf("full: %+v, %v", full, ok)
	}
}

// fill writes up to n bytes, until no more fit.
func fill(t *testing.T, path string, n int) {
	t.Helper()
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for block := make([]byte, 4096); n > 0; n -= len(block) {
		if _, err := unix.Write(fd, block); err == unix.ENOSPC {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
