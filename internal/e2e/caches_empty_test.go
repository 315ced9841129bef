package e2e

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Files with nothing in them take no block, and yet as many as a jail likes take
// every inode that the node's journal and other jails need.
func TestS28_EmptyFilesAreNoCacheWithoutALimit(t *testing.T) {
	state, err := os.MkdirTemp("", "oj-state-")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("state", state, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=8G,nr_inodes=400000"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Unmount(state, 0)
		os.Remove(state)
	})
	n := NewNode(t, Options{NoLab: true, Config: map[string]any{"state_dir": state}, Policy: map[string]string{
		"build": "write_paths: [\".\"]\nlimits: {cache: 8MiB}\ncaller: [cwd, timeout]\n",
	}})
	dir := n.Workspace(t, Alice, nil)
	const make = "cd ~/.cache && seq 1 20000 | xargs touch && sleep 1000"
	o := n.under(t, Alice, dir, "build", make, "--timeout", "30s")
	if o.Exit != 125 || !strings.Contains(o.Stderr, "cache holds more than its limit of 8 MiB") {
		t.Errorf("%+v", o)
	}
}
