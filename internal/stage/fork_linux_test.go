package stage

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that another thread starts meanwhile must not hold the root open for
// writing: it could not be closed against that then.
func TestRootsCloseWhileProcessesStart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting is for root")
	}
	done := make(chan struct{})
	var forks sync.WaitGroup
	for range 2 {
		forks.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					exec.Command("/bin/true").Run()
				}
			}
		})
	}
	defer forks.Wait()
	defer close(done)
	var l Layout
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		l.Files = append(l.Files, File{Path: "/etc/" + name, Data: []byte("x"), Mode: 0o444})
	}
	for range 300 {
		r, err := Prepare(l)
		if err != nil {
			t.Fatal(err)
		}
		err = unix.MountSetattr(r.mount, "", emptyPath, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		r.Close()
		if err != nil {
			t.Fatalf("close a root against writing: %v", err)
		}
	}
}
