//go:build linux && cgo

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

const committed = "../bpf"

func TestCommittedFiltersAreTheGeneratedOnes(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(committed)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := want[e.Name()]; !ok {
			t.Errorf("%s is committed and nothing generates it", e.Name())
		}
	}
	for name, program := range want {
		got, err := os.ReadFile(filepath.Join(committed, name))
		if err != nil || !bytes.Equal(got, program) {
			t.Errorf("%s is stale (%v): go generate ./internal/seccomp", name, err)
		}
	}
}

func TestUnknownNameFailsTheGeneration(t *testing.T) {
	f := filter{name: "typo", rules: refuse(unix.EPERM, "ptrase")}
	if _, err := machines[0].compile(f); err == nil {
		t.Fatal("a deny rule for a call that does not exist was accepted")
	}
}

// Every number up to the top is either known by name or in a hole.
func TestHolesAreWhatHasNoName(t *testing.T) {
	for _, m := range machines {
		abis := []abi{m.native}
		if m.compat != nil {
			abis = append(abis, *m.compat)
		}
		for _, a := range abis {
			for nr := 0; nr <= int(a.top); nr++ {
				_, err := libseccomp.ScmpSyscall(nr).GetNameByArch(a.arch)
				if named := err == nil; named == inHole(a, nr) {
					t.Errorf("%v: number %d: named %v, in a hole %v", a.arch, nr, named, !named)
				}
			}
		}
	}
}

func inHole(a abi, nr int) bool {
	for _, h := range a.holes {
		if nr >= h[0] && nr <= h[1] {
			return true
		}
	}
	return false
}

func TestOtherThanCoversTheRest(t *testing.T) {
	cs := otherThan(0, 0, 7, 16, 1<<31, asking)
	covered := func(v uint32) (n int) {
		for _, c := range cs {
			if uint64(v)&c.Operand1 == c.Operand2 {
				n++
			}
		}
		return n
	}
	excepted := map[uint32]bool{0: true, 7: true, 16: true, 1 << 31: true, asking: true}
	for _, base := range []uint32{0, 1 << 31, asking} {
		for d := -300; d <= 300; d++ {
			v := base + uint32(d)
			if want := 1 - b2i(excepted[v]); covered(v) != want {
				t.Errorf("%#x is covered %d times, want %d", v, covered(v), want)
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
