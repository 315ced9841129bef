package netns

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/ownthread"
)

func TestSysctlsAreSetInside(t *testing.T) {
	n := newNet(t)
	err := ownthread.Run(func() error {
		if err := unix.Setns(int(n.FD().Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		for _, s := range sysctls {
			got, err := os.ReadFile("/proc/sys/" + s.name)
			if err != nil {
				return err
			}
			if strings.TrimSpace(string(got)) != s.value {
				t.Errorf("%s is %s, want %s", s.name, got, s.value)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
