package bpf

import "github.com/cilium/ebpf/asm"

// Offsets in the kernel's struct bpf_sock_addr. Address and port are in network
// order.
const (
	offUser4    = 4
	offUser6    = 8
	offUserPort = 24
)

// Where the keys are made on the stack: a word and an address.
const (
	keyAddr = -16
	keyWord = keyAddr - 4
)

// fenceProgram judges one destination: what is pinned by address and port is let
// through, what the table says is never opened is not, and what it calls private
// is where an opening has it. An IPv4 address is looked up as a mapped one.
func fenceProgram(v6 bool, pins, table, openings int) asm.Instructions {
	ins := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	ins = append(ins, loadDestination(v6)...)
	ins = append(ins,
		asm.LoadMem(asm.R2, asm.R6, offUserPort, asm.Word),
		asm.StoreMem(asm.RFP, keyWord, asm.R2, asm.Word),
	)
	ins = append(ins, lookup(pins)...)
	ins = append(ins,
		asm.JNE.Imm(asm.R0, 0, "allow"),
		asm.StoreImm(asm.RFP, keyWord, addrBits, asm.Word), // from here on the key is one of a prefix
	)
	ins = append(ins, lookup(table)...)
	ins = append(ins,
		asm.JEq.Imm(asm.R0, 0, "allow"),
		asm.LoadMem(asm.R7, asm.R0, 0, asm.Word),
		asm.JEq.Imm(asm.R7, int32(Open), "allow"),
		asm.JNE.Imm(asm.R7, int32(Private), "deny"),
	)
	ins = append(ins, lookup(openings)...)
	return append(ins,
		asm.JEq.Imm(asm.R0, 0, "deny"),
		asm.Mov.Imm(asm.R0, 1).WithSymbol("allow"),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("deny"),
		asm.Return(),
	)
}

// loadDestination puts the address on the stack.
func loadDestination(v6 bool) asm.Instructions {
	if !v6 {
		mapped := int32(-1 << 16) // the bytes 00 00 ff ff
		if bigEndian() {
			mapped = 0xffff
		}
		return asm.Instructions{
			asm.StoreImm(asm.RFP, keyAddr, 0, asm.Word),
			asm.StoreImm(asm.RFP, keyAddr+4, 0, asm.Word),
			asm.StoreImm(asm.RFP, keyAddr+8, int64(mapped), asm.Word),
			asm.LoadMem(asm.R2, asm.R6, offUser4, asm.Word),
			asm.StoreMem(asm.RFP, keyAddr+12, asm.R2, asm.Word),
		}
	}
	var ins asm.Instructions
	for at := int16(0); at < 16; at += 4 {
		ins = append(ins,
			asm.LoadMem(asm.R2, asm.R6, offUser6+at, asm.Word),
			asm.StoreMem(asm.RFP, keyAddr+at, asm.R2, asm.Word))
	}
	return ins
}

// lookup leaves in R0 what a map has for the key on the stack.
func lookup(m int) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, m),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, keyWord),
		asm.FnMapLookupElem.Call(),
	}
}
