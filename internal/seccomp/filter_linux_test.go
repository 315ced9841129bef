package seccomp

import (
	"bytes"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNames(t *testing.T) {
	for _, bad := range [][]string{{"outer"}, {"egress"}, {"../bpf"}, {"git_config"}, {""}, {"ptrace", "compat_abi"}} {
		if f, err := Jail(bad...); err == nil {
			t.Errorf("Jail(%q) gave a filter of %d bytes", bad, len(f))
		}
		if _, err := Outer(bad[0]); err == nil && len(bad) == 1 {
			t.Errorf("Outer(%q) gave a filter", bad[0])
		}
	}
	for _, weaken := range [][]string{nil, {"ptrace"}, {"nested_sandbox"}} {
		name, err := Name(weaken...)
		if err != nil {
			t.Fatal(err)
		}
		inner, err := Jail(weaken...)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Named(name); err != nil || !bytes.Equal(again, inner) {
			t.Errorf("Named(%q): %v", name, err)
		}
		if outer, err := Outer(name); err != nil || bytes.Equal(outer, inner) {
			t.Errorf("Outer(%q): %v", name, err)
		}
	}
}

func TestMemfdCannotBeChanged(t *testing.T) {
	f, err := Jail()
	if err != nil {
		t.Fatal(err)
	}
	file, err := f.Memfd()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, f) {
		t.Fatalf("read back %d bytes: %v", len(got), err)
	}
	if _, err := file.WriteAt([]byte{0}, 0); err == nil {
		t.Error("the program was overwritten")
	}
	if err := file.Truncate(0); err == nil {
		t.Error("the program was cut")
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, 0); err == nil {
		t.Error("the seals are open")
	}
}

func TestInstallRefusesWhatIsNoProgram(t *testing.T) {
	for _, f := range []Filter{nil, {}, make(Filter, 7), make(Filter, 8*5000)} {
		if err := f.Install(); err == nil {
			t.Errorf("%d bytes were installed", len(f))
		}
	}
}
