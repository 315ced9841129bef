package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What is mounted and unmounted on the node, in a directory that jails have of it, is
// so for the next command, also where that one's jail had been waiting since before.
// A jail that waits does not keep in use what was unmounted.
func TestS26_TheNodesMountsReachAJailThatWaits(t *testing.T) {
	t.Parallel()
	n := readyNode(t)
	place, err := os.MkdirTemp("/usr/local/share", "omnijail-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(place) })
	if err := errors.Join(os.Chmod(place, 0o755), os.WriteFile(place+"/under", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(place + "/under") })
	dir := n.Workspace(t, Alice, nil)
	sees := func(want string) {
		t.Helper()
		n.waiting(t)
		out := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", "kill", "--", "ls", place}}).Want(t, 0)
		if got := strings.TrimSpace(out.Stdout); got != want {
			t.Errorf("the command sees %q in %s, want %q", got, place, want)
		}
	}
	sees("under")
	n.waiting(t)
	if err := unix.Mount("tmpfs", place, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(place, unix.MNT_DETACH) })
	if err := os.WriteFile(place+"/over", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sees("over")
	n.waiting(t)
	if err := unix.Unmount(place, 0); err != nil {
		t.Fatal(err)
	}
	until(t, "no jail that waits has it mounted", func() bool {
		for _, g := range n.waiting(t) {
			for _, pid := range g.members() {
				table, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "mountinfo"))
				if err != nil || strings.Contains(string(table), place) {
					return false
				}
			}
		}
		return true
	})
	sees("under")
}
