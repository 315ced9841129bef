package seccomp

import (
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/net/bpf"
)

// The kernel's names of ABIs, and the mark of x32 in a number.
const (
	archAMD64 = 0xc000003e
	archARM64 = 0xc00000b7
	archI386  = 0x40000003
	x32       = 0x40000000
)

// Answers of a filter as the kernel reads them.
const (
	allowed = 0x7fff0000
	errnoOf = 0x00050000

	askOutside = 0x7fc00000
	asks       = -1 // what answer returns for it
)

// call is one system call as a filter sees it.
type call struct {
	arch uint32
	nr   uint32
	args [6]uint64
}

// interpreter runs a committed program of any architecture.
type interpreter struct{ vm *bpf.VM }

func open(t *testing.T, name string) interpreter {
	t.Helper()
	program, err := os.ReadFile("bpf/" + name + ".bin")
	if err != nil {
		t.Fatal(err)
	}
	var raw []bpf.RawInstruction
	for ; len(program) >= 8; program = program[8:] {
		raw = append(raw, bpf.RawInstruction{
			Op: binary.LittleEndian.Uint16(program), Jt: program[2], Jf: program[3],
			K: binary.LittleEndian.Uint32(program[4:]),
		})
	}
	instructions, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatalf("%s: an instruction is not classic BPF", name)
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return interpreter{vm}
}

// answer returns the errno that the filter gives to c, 0 when it lets it pass, asks
// when somebody outside is asked.
func (i interpreter) answer(t *testing.T, c call) int {
	t.Helper()
	verdict, err := i.vm.Run(c.data())
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case verdict == allowed:
		return 0
	case verdict == askOutside:
		return asks
	case verdict&^0xffff == errnoOf:
		return verdict & 0xffff
	}
	t.Fatalf("verdict %#x is neither allow nor errno", verdict)
	return -1
}

// data lays c out as struct seccomp_data of a little-endian machine, each 32-bit
// word turned round, because the interpreter loads as networks do.
func (c call) data() []byte {
	b := binary.BigEndian.AppendUint32(nil, c.nr)
	b = binary.BigEndian.AppendUint32(b, c.arch)
	b = append(b, make([]byte, 8)...) // instruction pointer
	for _, a := range c.args {
		b = binary.BigEndian.AppendUint32(b, uint32(a))
		b = binary.BigEndian.AppendUint32(b, uint32(a>>32))
	}
	return b
}
