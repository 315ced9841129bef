package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

func TestS17_AHangingFileSystemCostsItsOwnerOnly(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := filepath.Join(n.Home(t, Alice), "hang")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, Alice, Alice)); err != nil {
		t.Fatal(err)
	}
	asked, release := lab.HangingFS(t, dir, Alice)
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
