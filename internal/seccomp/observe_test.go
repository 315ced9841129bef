package seccomp

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// reported reads a table of calls: true for those that go on.
func reported(t *testing.T, arch string) map[int]bool {
	t.Helper()
	f, err := os.Open("bpf/" + arch + "-calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	calls := map[int]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var nr int
		var name, what string
		if _, err := fmt.Sscan(lines.Text(), &nr, &name, &what); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		if _, twice := calls[nr]; twice {
			t.Errorf("%s: %s stands twice", arch, name)
		}
		calls[nr] = what == "file"
	}
	return calls
}

// With the observer's one answer, EPERM for every call that does not go on, an
// observed jail is refused what every jail is refused, and nothing more: for every
// number, with arguments that rules look at and with others.
func TestS29_AnObservedJailIsRefusedTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	interesting := []uint64{0, 1, 2, 3, 10, 16, 17, 28, 40, 0o4755, 0o644, 0o100, 0o20000000, 0x5412, 0x541c, 262, 0x10000000, 0x20000, 0x50f00, 0xffffffff, 4}
	pick := func() uint64 {
		v := interesting[r.IntN(len(interesting))]
		if r.IntN(3) == 0 {
			v |= uint64(r.Uint32()) << 32
		}
		return v
	}
	for _, tab := range tables {
		for _, outer := range []bool{false, true} {
			base, hard := open(t, tab.file+"-default"), open(t, tab.file+"-observe")
			if outer {
				hard = open(t, tab.file+"-outer-observe")
			}
			notify, calls := open(t, tab.file+"-notify"), reported(t, tab.file)
			for nr := range 1024 {
				for range 200 {
					c := call{arch: tab.arch, nr: uint32(nr)}
					for i := range c.args {
						c.args[i] = pick()
					}
					got := hard.answer(t, c)
					want := base.answer(t, c)
					if outer {
						if got != 0 && got != want {
							t.Fatalf("%s: the outer filter answers %d to call %d, %d is right", tab.file, got, nr, want)
						}
						continue
					}
					goesOn, known := calls[nr]
					switch asked := notify.answer(t, c); {
					case asked == asks && !known:
						t.Fatalf("%s: call %d is reported and not in the table", tab.file, nr)
					case got != 0 || asked == 0: // the kernel alone
					case asked == asks && !goesOn:
						got = eperm
					case asked != asks:
						got = asked // ENOSYS of the ceiling
					}
					if got != want {
						t.Fatalf("%s: call %d %x answers %d, want %d", tab.file, nr, c.args, got, want)
					}
				}
			}
		}
	}
}

// What leaves a trace outside, or needs no more than an argument to, is refused
// whatever becomes of the observer.
func TestS25_SomeRefusalsAskNobody(t *testing.T) {
	hard := open(t, "amd64-observe")
	for name, c := range map[string]call{
		"the setuid bit": {nr: 90, args: args(0, 0o4755)}, "AF_VSOCK": {nr: 41, args: args(40, 1, 0)},
		"multipath TCP": {nr: 41, args: args(2, 1, 262)}, "typing": {nr: 16, args: args(0, 0x5412)},
		"clone3": {nr: 435}, "openat2": {nr: 437}, "the core limit": {nr: 160, args: args(4)}, "a number nobody reviewed": {nr: 470},
	} {
		c.arch = archAMD64
		if hard.answer(t, c) <= 0 {
			t.Errorf("%s is not refused by the kernel", name)
		}
	}
}

func TestTheObserverStartsNothing(t *testing.T) {
	f := open(t, "amd64-observer")
	for name, nr := range map[string]uint32{"execve": 59, "fork": 57, "socket": 41, "ptrace": 101, "process_vm_writev": 311, "mount": 165} {
		if f.answer(t, call{arch: archAMD64, nr: nr}) == 0 {
			t.Errorf("it may call %s", name)
		}
	}
	if f.answer(t, call{arch: archAMD64, nr: 310}) != 0 {
		t.Error("it may not read a path")
	}
}
