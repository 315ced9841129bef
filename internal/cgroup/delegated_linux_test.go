package cgroup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const delegatedVar = "OMNIJAIL_TEST_DELEGATED"

func TestMain(m *testing.M) {
	if os.Getenv(delegatedVar) != "" {
		fmt.Print(insideDelegated())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// systemd marks what it delegates with an attribute; the daemon then stays below
// its own service, whose limits and accounting hold for jails, too.
func TestDelegatedCgroupIsUsed(t *testing.T) {
	h, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if !h.V2() {
		t.Skip("needs a cgroup v2 mount")
	}
	service := group(t, instance(t, h), "service")
	attr := unix.Fsetxattr(int(service.Dir().Fd()), "trusted.delegate", []byte("1"), 0)
	if attr != nil {
		t.Fatal(attr)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{delegatedVar + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(service.Dir().Fd())}
	out, err := cmd.CombinedOutput()
	want := strings.Join([]string{
		"delegated true", "instance " + service.Path() + "/omnijail-inner",
		"moved to " + service.Path() + "/omnijaild",
		"delegated true", "instance " + service.Path() + "/omnijail-inner", "swept <nil>",
	}, "\n") + "\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%swant\n%s", err, out, want)
	}
}

// insideDelegated is what a daemon does there: find, make, move, find again after
// a restart in place.
func insideDelegated() string {
	var said strings.Builder
	for round := range 2 {
		h, err := Find()
		if err != nil {
			return err.Error()
		}
		fmt.Fprintln(&said, "delegated", h.Delegated())
		i, err := h.Instance("inner")
		if err != nil {
			return err.Error()
		}
		fmt.Fprintln(&said, "instance", i.path)
		if round == 1 {
			fmt.Fprintln(&said, "swept", h.Sweep(context.Background(), "inner"))
			break
		}
		if err := h.moveToLeaf(path.Dir(i.path)); err != nil {
			return err.Error()
		}
		now, _ := h.Of(os.Getpid())
		fmt.Fprintln(&said, "moved to", now)
	}
	return said.String()
}
