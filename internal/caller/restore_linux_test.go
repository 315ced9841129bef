package caller

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// What is found again is there itself, of the kind that was there, and reached
// through no link.
func TestS09_WhatIsThereAgain(t *testing.T) {
	dir := playground(t)
	write(t, dir, "w/file", 0o644, "")
	mkdir(t, dir, "w/dir")
	symlink(t, "file", filepath.Join(dir, "w/link"))
	symlink(t, "w", filepath.Join(dir, "way"))
	if err := unix.Mkfifo(filepath.Join(dir, "w/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	want := map[string]bool{
		"w/file": true, "w/dir/": true, "w/dir": false, "w/file/": false, "w/link": false, "w/fifo": false, "w/none": false,
		"way/file": false, "w/file/x": false,
	}
	var o RestoreOptions
	var places []string
	for p := range want {
		place := filepath.Clean(p)
		o.Request.Places = append(o.Request.Places, place)
		o.Request.Dirs = append(o.Request.Dirs, place != p)
		places = append(places, p)
	}
	o.Child, o.User, o.Root = newChild(t), user(dir), root
	found, err := FindAgain(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer seqpacket.CloseAll(found)
	for i, p := range places {
		if (found[i] != nil) != want[p] {
			t.Errorf("%s: %v", p, found[i])
		}
	}
	for _, bad := range []child.RestoreRequest{
		{Places: child.Names{"../x"}, Dirs: []bool{false}}, {Places: child.Names{"/etc/passwd"}, Dirs: []bool{false}},
		{Places: child.Names{"w/file"}}, {},
	} {
		o.Request = bad
		if found, err := FindAgain(t.Context(), o); err == nil {
			t.Errorf("%v was looked for: %v", bad, found)
		}
	}
}
