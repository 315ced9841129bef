package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// oldBwrap has every option but one that is needed.
const oldBwrap = `#!/bin/sh
case $1 in
--version) echo "bubblewrap 0.6.1" ;;
--help) exec /usr/bin/bwrap --help | sed s/--json-status-fd//g ;;
*) exec /usr/bin/bwrap "$@" ;;
esac
`

func TestTextsOfANodeWithAnOldBwrap(t *testing.T) {
	t.Parallel()
	bwrap := filepath.Join(rootOwnedDir(t), "bwrap")
	if err := os.WriteFile(bwrap, []byte(oldBwrap), 0o755); err != nil {
		t.Fatal(err)
	}
	n := NewNode(t, Options{NoLab: true, Config: map[string]any{"bwrap": bwrap}})
	check(t, n, []text{{"12 an option is missing", Ctl{UID: Alice, Args: []string{"exec", "--backend", "linux_bwrap", "--", "true"}}, []string{
		`omnijailctl: ` + bwrap + ` (bubblewrap 0.6.1) has no --json-status-fd, which this needs`,
		`hint: sudo apt install --only-upgrade bubblewrap (what this node can do: omnijailctl doctor)`,
	}}})
}

// rootOwnedDir is a directory that only root can write, as all above it are, and
// from which programs run.
func rootOwnedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "oj-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
