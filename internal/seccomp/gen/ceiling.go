//go:build linux && cgo

package main

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in the kernel's struct seccomp_data.
const (
	offsetNumber = 0
	offsetArch   = 4
)

// ceiling answers ENOSYS to numbers that nobody reviewed: those above the
// table's top, in its holes, and x32's, which are far above. libseccomp can name
// only calls that it knows, and a deny-list would let the others through.
func ceiling(abis []abi) ([]byte, error) {
	var front []bpf.Instruction
	for _, a := range abis {
		front = append(front, ceilingOf(a)...)
	}
	return assemble(front)
}

func ceilingOf(a abi) []bpf.Instruction {
	tests := []bpf.Instruction{bpf.LoadAbsolute{Off: offsetNumber, Size: 4}}
	refuse := 2*len(a.holes) + 3 // index of the answer in tests
	tests = append(tests, bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: a.top,
		SkipTrue: uint8(refuse - 2)})
	for _, h := range a.holes {
		left := refuse - len(tests) - 2 // instructions between this pair and the answer
		tests = append(tests,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: uint32(h[0]), SkipFalse: 1},
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(h[1]), SkipFalse: uint8(left)})
	}
	// Reviewed: leave the answer out.
	tests = append(tests, bpf.Jump{Skip: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.audit, SkipFalse: uint8(len(tests))},
	}, tests...)
}

func assemble(program []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, i := range raw {
		out = binary.LittleEndian.AppendUint16(out, i.Op)
		out = append(out, i.Jt, i.Jf)
		out = binary.LittleEndian.AppendUint32(out, i.K)
	}
	return out, nil
}
