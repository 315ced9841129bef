package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What the node mounts below a grant after the start stays out of the jail, also
// where the node's own mount tells others of it, as on a machine with systemd.
func TestS26_ALaterMountOfTheNodesStaysOut(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, nil)
	mount := func(to, kind string, flags uintptr, data string) {
		t.Helper()
		if err := unix.Mount("tmpfs", to, kind, flags, data); err != nil {
			t.Fatal(err)
		}
	}
	mount(dir, "tmpfs", 0, "mode=755,uid=2001")
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	mount(dir, "", unix.MS_SHARED, "")
	late := filepath.Join(dir, "late")
	if err := errors.Join(os.Mkdir(late, 0o755), os.Chown(late, Alice, Alice)); err != nil {
		t.Fatal(err)
	}
	r := n.launch(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", ".", "--", "sh", "-c",
		`echo up; read line; ls late; touch late/in 2>&1; echo end`}})
	r.says(t, "up\n")
	mount(late, "tmpfs", 0, "mode=777")
	t.Cleanup(func() { unix.Unmount(late, unix.MNT_DETACH) })
	if err := os.WriteFile(filepath.Join(late, "of the node"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.tell(t, "")
	r.finish(t).Want(t, 0)
	if got := r.out.String(); got != "up\nend\n" {
		t.Errorf("the jail says %q", got)
	}
	if _, err := os.Lstat(filepath.Join(late, "in")); err == nil {
		t.Error("the jail wrote into a mount that came after its start")
	}
}
