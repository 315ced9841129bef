package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// staying are the scouts of alice's that the node's daemon has kept.
func (n *Node) staying() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, f := range files {
		status, _ := os.ReadFile(f)
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", n.PID())) && strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t", Alice)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// A scout that stays after a command is the next one's, and what was made in the
// workspace between them is as protected as it would be after another look at all of
// it.
func TestS08_BetweenTwoCommandsNothingIsMissed(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"a/b/file": ""})
	append := func(file string) {
		t.Helper()
		o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", dir, "--", "sh", "-c", "echo pwned >> $0", file}})
		if b, err := os.ReadFile(filepath.Join(dir, file)); o.Exit == 0 || err != nil || string(b) != "[core]\n" {
			t.Errorf("%s holds %q, %v; exit %d, %s", file, b, err, o.Exit, o.Stderr)
		}
	}
	n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", dir, "--", "mkdir", "-p", "a/made/by/it"}}).Want(t, 0)
	first := n.staying()
	if len(first) != 1 {
		t.Fatalf("%d scouts stayed", len(first))
	}
	const repository = `mkdir -p $1/.git/objects $1/.git/refs; echo ref: x > $1/.git/HEAD; echo '[core]' > $1/.git/config`
	n.outside(t, dir, repository, "a/made/by/it/r")
	append("a/made/by/it/r/.git/config")
	n.outside(t, dir, "mv a c")
	append("c/made/by/it/r/.git/config")
	n.outside(t, filepath.Dir(dir), repository, "elsewhere")
	n.outside(t, dir, "mv ../elsewhere c/b")
	append("c/b/elsewhere/.git/config")
	if now := n.staying(); !slices.Equal(now, first) {
		t.Errorf("scouts %v stayed, then %v", first, now)
	}
	n.outside(t, filepath.Dir(dir), `mv $1 $1.old; cp -r $1.old $1; mkdir $1/x; mv $1/c/b/elsewhere $1/x`, dir)
	append("x/elsewhere/.git/config") // another directory of that name
}

// A scout of the caller's own that does not answer delays the caller by a moment, and
// hides nothing.
func TestS17_AScoutThatStaysAndIsStoppedIsReplaced(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"a/file": "", "r/.git/HEAD": "ref: x", "r/.git/config": "[core]\n"})
	run := Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", dir, "--", "sh", "-c", "echo x >> r/.git/config"}}
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		n.Run(t, run)
		var before []int
		until(t, "one scout stays, and one that was stopped has ended", func() bool {
			before = n.staying()
			return len(before) == 1
		})
		if err := syscall.Kill(before[0], signal); err != nil {
			t.Fatal(err)
		}
		if o := n.Run(t, run); o.Exit == 0 || o.Exit == 125 {
			t.Errorf("%v: exit %d, %s", signal, o.Exit, o.Stderr)
		}
		if now := n.staying(); slices.Contains(now, before[0]) && signal == syscall.SIGKILL || len(now) == 0 {
			t.Errorf("%v: %v stayed, then %v", signal, before, now)
		}
		if b, err := os.ReadFile(dir + "/r/.git/config"); err != nil || string(b) != "[core]\n" {
			t.Errorf("%q, %v", b, err)
		}
	}
}
