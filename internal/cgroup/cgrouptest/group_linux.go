// Package cgrouptest has cgroups for tests.
package cgrouptest

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/omnijail/omnijail/internal/cgroup"
)

var made atomic.Int64

// New makes a cgroup that ends with the test, with what is in it. Making one
// takes root.
func New(t testing.TB) *cgroup.Group {
	t.Helper()
	h, err := cgroup.Find()
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("test-%d-%d", os.Getpid(), made.Add(1))
	i, err := h.Instance(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Sweep(context.Background(), id); err != nil {
			t.Error(err)
		}
	})
	g, err := i.New("group")
	if err != nil {
		t.Fatal(err)
	}
	return g
}
