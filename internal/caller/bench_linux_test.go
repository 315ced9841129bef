package caller

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkOpen compares a scout's whole life, both phases, with the start of
// /usr/bin/true by the same means.
func BenchmarkOpen(b *testing.B) {
	init := filepath.Join(b.TempDir(), "omnijail-init")
	build := exec.Command("go", "build", "-o", init, "github.com/omnijail/omnijail/cmd/omnijail-init")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	dir := playground(b)
	c := newChild(b)
	var err error
	if c.Init, err = os.Open(init); err != nil {
		b.Fatal(err)
	}
	b.Run("true", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/usr/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scout", func(b *testing.B) {
		for b.Loop() {
			o, err := Open(context.Background(), Options{Child: c, Request: request(dir)})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := o.Resolve(context.Background(), o.Grants, again); err != nil {
				b.Fatal(err)
			}
			o.Close()
		}
	})
}
