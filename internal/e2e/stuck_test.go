package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// hangingFS mounts a FUSE file system of alice's that answers INIT and then
// nothing. Each request that hangs is told on asked.
func hangingFS(t *testing.T, dir string) (asked <-chan struct{}, release func()) {
	t.Helper()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(fuse.Fd())
	if err := unix.Mount("hanging", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, Alice, Alice)); err != nil {
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
		b := make([]byte, 1<<20)
		for first := true; ; first = false {
			if _, err := unix.Read(fd, b); err != nil {
				return
			}
			if !first {
				hangs <- struct{}{}
				continue
			}
			reply := make([]byte, 80)
			binary.LittleEndian.PutUint32(reply, 80)
			copy(reply[8:16], b[8:16])   // whose answer it is
			copy(reply[16:24], b[40:48]) // the version that was asked for
			const parallelLookups = 1 << 18
			binary.LittleEndian.PutUint32(reply[28:32], parallelLookups)
			binary.LittleEndian.PutUint32(reply[36:40], 4096) // what a write may carry
			unix.Write(fd, reply)
		}
	}()
	return hangs, release
}

func TestS17_AHangingFileSystemCostsItsOwnerOnly(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := filepath.Join(n.Home(t, Alice), "hang")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, Alice, Alice)); err != nil {
		t.Fatal(err)
	}
	asked, release := hangingFS(t, dir)
	var hanging []*exec.Cmd
	for i := range 4 {
		cmd := n.Command(t, Ctl{UID: Alice, Args: []string{"exec", "--read", fmt.Sprintf("%s/%d", dir, i), "--", "true"}})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hanging = append(hanging, cmd)
		<-asked
	}
	n.Run(t, Ctl{UID: Bob, Args: []string{"exec", "--", "true"}}).Want(t, 0) // while four of alice's hang
	n.Exec(t, "--", "true").Want(t, 0)                                       // alice's too: none is abandoned yet
	for _, cmd := range hanging {
		cmd.Process.Kill()
		cmd.Wait()
	}
	for o := (Output{}); !strings.Contains(o.Stderr, "file system that does not answer"); {
		if o = n.Exec(t, "--", "true"); o.Exit != 0 && o.Exit != 125 {
			t.Fatalf("alice: %+v", o)
		}
	}
	n.Run(t, Ctl{UID: Bob, Args: []string{"exec", "--", "true"}}).Want(t, 0)
	if tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", n.PID())); err != nil || len(tasks) > 60 {
		t.Errorf("the daemon has %d threads, %v", len(tasks), err)
	}
	release()
	for n.Exec(t, "--", "true").Exit != 0 { // bounded by the test's own timeout
	}
}

// What a credential command leaves behind, in a session of its own, is gone.
func TestS17_ACredentialCommandLeavesNoProcess(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	const left = "98765.4321"
	file := filepath.Join(n.Workspace(t, Alice, map[string]string{"p.yaml": "egress_rules: [\"GET x.test/**\"]\n" +
		"credential_proxy: [{type: https_bearer, target: x.test, resolve: start, source: {command: [sh, -c, \"setsid sleep " + left + " >/dev/null 2>&1 & setsid -f sleep " + left + "; echo a-value-of-20-bytes\"]}}]\n"}), "p.yaml")
	n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--policy", file, "--", "true"}}).Want(t, 0)
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range procs {
		if b, _ := os.ReadFile(p); strings.Contains(string(b), "sleep\x00"+left) {
			t.Errorf("%s is %q", p, b)
		}
	}
}
