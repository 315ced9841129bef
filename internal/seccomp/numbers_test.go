package seccomp

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const (
	eperm  = int(syscall.EPERM)
	enosys = int(syscall.ENOSYS)
	top    = 456 // highest reviewed number of each ABI
)

// table is an ABI, its column in testdata/refused.txt and the numbers below top
// that mean nothing in it.
type table struct {
	file   string
	arch   uint32
	column int
	hole   func(nr int) bool
}

var tables = []table{
	{"amd64", archAMD64, 1, func(nr int) bool { return nr >= 335 && nr <= 423 }},
	{"arm64", archARM64, 2, func(nr int) bool { return nr >= 244 && nr <= 259 || nr >= 295 && nr <= 423 }},
}

// i386 as the weakening compat_abi judges it.
var i386 = table{"amd64", archI386, 3, func(nr int) bool {
	return nr == 222 || nr == 223 || nr == 251 || nr == 285 || nr >= 387 && nr <= 392 || nr == 415
}}

// refused reads the answers of the default filter that depend on the number alone.
func refused(t *testing.T, column int) map[int]int {
	t.Helper()
	f, err := os.Open("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	answers := map[int]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		if field[0] == "#" || field[column] == "-" {
			continue
		}
		nr, err := strconv.Atoi(field[column])
		if err != nil {
			t.Fatalf("refused.txt: %q", lines.Text())
		}
		answers[nr] = map[string]int{"EPERM": eperm, "ENOSYS": enosys}[field[4]]
	}
	return answers
}

// With all arguments zero, socket and socketpair are the calls that are refused
// for an argument: family 0.
func TestS29_EveryNumberOfTheNativeABI(t *testing.T) {
	sockets := map[uint32][2]int{archAMD64: {41, 53}, archARM64: {198, 199}}
	for _, tab := range tables {
		filter := open(t, tab.file+"-default")
		want := refused(t, tab.column)
		for _, nr := range sockets[tab.arch] {
			want[nr] = noFamily
		}
		for nr := range 1024 {
			expect := want[nr]
			if nr > top || tab.hole(nr) {
				expect = enosys
			}
			if got := filter.answer(t, call{arch: tab.arch, nr: uint32(nr)}); got != expect {
				t.Errorf("%s: call %d answers %d, want %d", tab.file, nr, got, expect)
			}
		}
	}
}

func TestS29_EveryNumberOfI386UnderCompatABI(t *testing.T) {
	filter := open(t, "amd64-compat_abi")
	want := refused(t, i386.column)
	want[359], want[360] = noFamily, noFamily // socket and socketpair with family 0
	for nr := range 1024 {
		expect := want[nr]
		if nr > top || i386.hole(nr) {
			expect = enosys
		}
		if got := filter.answer(t, call{arch: archI386, nr: uint32(nr)}); got != expect {
			t.Errorf("i386: call %d answers %d, want %d", nr, got, expect)
		}
	}
}

// No filter but compat_abi's lets a call of another ABI through, and none x32's.
func TestS29_OtherABIsAreRefusedWhole(t *testing.T) {
	files, err := os.ReadDir("bpf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no filters: %v", err)
	}
	for _, f := range files {
		name, program := strings.CutSuffix(f.Name(), ".bin")
		if !program {
			continue
		}
		filter := open(t, name)
		native := uint32(archAMD64)
		if strings.HasPrefix(name, "arm64") {
			native = archARM64
		}
		for _, arch := range []uint32{archAMD64, archARM64, archI386, 0, 0x40000028, 0xc00000f3} {
			if arch == native || arch == archI386 && strings.HasSuffix(name, "compat_abi") {
				continue
			}
			for nr := range uint32(1024) {
				if got := filter.answer(t, call{arch: arch, nr: nr}); got != enosys {
					t.Fatalf("%s lets call %d of ABI %#x through: %d", name, nr, arch, got)
				}
			}
		}
		for nr := range uint32(1024) {
			if got := filter.answer(t, call{arch: native, nr: x32 | nr}); got != enosys {
				t.Fatalf("%s lets x32 call %d through: %d", name, nr, got)
			}
		}
	}
}

// Each weakening gives back what it names, and the outer filter is never
// stricter than the filter it stands around.
func TestWeakeningsGiveBackWhatTheyName(t *testing.T) {
	amd64 := tables[0]
	base := open(t, "amd64-default")
	gives := map[string][]int{
		"amd64-ptrace":         {101, 310, 311, 312},
		"amd64-nested_sandbox": {155, 161, 165, 166, 170, 171, 272, 308, 428, 429, 430, 431, 432, 433, 442},
		"amd64-compat_abi":     {},
		"amd64-outer":          {250},
	}
	for name, calls := range gives {
		filter := open(t, name)
		given := map[int]bool{}
		for _, nr := range calls {
			given[nr] = true
		}
		for nr := range 1024 {
			c := call{arch: amd64.arch, nr: uint32(nr)}
			want := base.answer(t, c)
			if given[nr] {
				want = 0
			}
			if got := filter.answer(t, c); got != want {
				t.Errorf("%s: call %d answers %d, want %d", name, nr, got, want)
			}
		}
	}
}
