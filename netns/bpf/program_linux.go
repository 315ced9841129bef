package bpf

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// Keys of the sockmap.
const (
	key4 = iota
	key6
	families
)

// Offsets in the kernel's struct bpf_sk_lookup. Addresses are in network order.
const (
	offFamily   = 8
	offProtocol = 12
	offLocal4   = 40
	offLocal6   = 44
)

// What the program returns, and the flag that keeps a reuseport group, which a
// jail might have joined, out of the choice.
const (
	drop           = 0
	pass           = 1
	noReuseport    = 2
	loopbackOctet  = 127
	loopbackPrefix = 0xff // the first octet of an address loaded as a little-endian word
)

// program chooses the socket for one connection. It is written for the byte
// order of the machine it is loaded on.
func program(sockmap int) asm.Instructions {
	firstOctet, lastWordOne := int32(loopbackPrefix), int32(1<<24)
	octet := int32(loopbackOctet)
	if bigEndian() {
		firstOctet, octet, lastWordOne = -1<<24, loopbackOctet<<24, 1
	}
	ctx := func(offset int16) asm.Instruction { return asm.LoadMem(asm.R2, asm.R6, offset, asm.Word) }
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		ctx(offProtocol),
		asm.JNE.Imm32(asm.R2, unix.IPPROTO_TCP, "pass"),
		asm.StoreImm(asm.RFP, -4, key4, asm.Word),
		ctx(offFamily),
		asm.JNE.Imm32(asm.R2, unix.AF_INET, "v6"),

		// 127.0.0.0/8 belongs to the jail's own servers.
		ctx(offLocal4),
		asm.And.Imm32(asm.R2, firstOctet),
		asm.JEq.Imm32(asm.R2, octet, "pass"),
		asm.Ja.Label("steer"),

		// So does ::1. A mapped address arrives as AF_INET.
		asm.StoreImm(asm.RFP, -4, key6, asm.Word).WithSymbol("v6"),
		ctx(offLocal6), asm.JNE.Imm32(asm.R2, 0, "steer"),
		ctx(offLocal6 + 4), asm.JNE.Imm32(asm.R2, 0, "steer"),
		ctx(offLocal6 + 8), asm.JNE.Imm32(asm.R2, 0, "steer"),
		ctx(offLocal6 + 12), asm.JEq.Imm32(asm.R2, lastWordOne, "pass"),

		asm.LoadMapPtr(asm.R1, sockmap).WithSymbol("steer"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "drop"), // no listener any more: refuse
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Reg(asm.R2, asm.R7),
		asm.Mov.Imm(asm.R3, noReuseport),
		asm.FnSkAssign.Call(),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.Mov.Reg(asm.R1, asm.R7),
		asm.FnSkRelease.Call(),
		asm.JNE.Imm(asm.R8, 0, "drop"), // not assigned: never fall through to a jail's listener
		asm.Mov.Imm(asm.R0, pass).WithSymbol("pass"),
		asm.Return(),
		asm.Mov.Imm(asm.R0, drop).WithSymbol("drop"),
		asm.Return(),
	}
}

func bigEndian() bool { return binary.NativeEndian.Uint16([]byte{0, 1}) == 1 }
