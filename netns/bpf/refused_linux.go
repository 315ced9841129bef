package bpf

import (
	"fmt"

	"golang.org/x/net/bpf"
)

// SnapLen is how much of a refused packet is taken, in bytes: the longest headers,
// twice.
const SnapLen = 160

// Numbers of protocols, and of messages in them.
const (
	protoHopByHop = 0 // in front of what joins a group of IPv6
	protoICMP     = 1
	protoIGMP     = 2
	protoTCP      = 6
	protoUDP      = 17
	protoICMP6    = 58

	unreachable  = 3
	echo         = 8
	unreachable6 = 1
	echo6        = 128

	resetOfConnect  = 0x14 // RST and ACK, with sequence number 0
	firstMulticast4 = 224
	multicast6      = 0xff
)

// Refused is a classic filter for a packet socket in a jail's namespace. It takes
// what shows that something was refused, from the network header on:
//
//   - "unreachable" messages, in which the kernel repeats what it refused;
//   - resets that answer a connect, where no listener takes it;
//   - datagrams to groups and everybody, and whatever is neither TCP, UDP nor a
//     message, which are lost in silence.
//
// What goes to loopback belongs to the jail and is not taken. An unprivileged
// program cannot forge the first two.
func Refused() ([]bpf.RawInstruction, error) {
	var p refusedProgram
	p.byte(0)
	p.do(bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4})
	p.equal(4, "v4", "")
	p.equal(6, "v6", "drop")
	p.refused4()
	p.refused6()
	p.at("take")
	p.do(bpf.RetConstant{Val: SnapLen})
	p.at("drop")
	p.do(bpf.RetConstant{Val: 0})
	return p.assemble()
}

func (p *refusedProgram) refused4() {
	p.at("v4")
	p.do(bpf.LoadAbsolute{Off: 6, Size: 2})
	p.jump(bpf.JumpBitsSet, 0x1fff, "drop", "") // not the first fragment: no header
	p.do(bpf.LoadMemShift{Off: 0})
	p.byte(9)
	p.equal(protoICMP, "icmp4", "")
	p.equal(protoTCP, "tcp4", "")
	p.equal(protoUDP, "udp4", "")
	p.equal(protoIGMP, "drop", "to4")
	p.at("icmp4")
	p.indirect(0, 1)
	p.equal(echo, "to4", "")
	p.equal(unreachable, "", "drop")
	p.indirect(8+16, 1) // where the refused packet went
	p.equal(loopbackOctet, "drop", "take")
	p.at("tcp4")
	p.indirect(13, 1)
	p.do(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: resetOfConnect})
	p.equal(resetOfConnect, "", "drop")
	p.indirect(4, 4)
	p.equal(0, "", "drop")
	p.byte(12)
	p.equal(loopbackOctet, "drop", "take")
	p.at("udp4")
	p.byte(16)
	p.jump(bpf.JumpGreaterOrEqual, firstMulticast4, "take", "drop")
	p.at("to4")
	p.byte(16)
	p.equal(loopbackOctet, "drop", "take")
}

func (p *refusedProgram) refused6() {
	p.at("v6")
	p.byte(6)
	p.equal(protoICMP6, "icmp6", "")
	p.equal(protoTCP, "tcp6", "")
	p.equal(protoUDP, "udp6", "")
	p.equal(protoHopByHop, "drop", "to6")
	p.at("icmp6")
	p.byte(40)
	p.equal(echo6, "to6", "")
	p.equal(unreachable6, "", "drop")
	p.unlessLoopback6(48 + 24)
	p.at("tcp6")
	p.byte(40 + 13)
	p.do(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: resetOfConnect})
	p.equal(resetOfConnect, "", "drop")
	p.do(bpf.LoadAbsolute{Off: 40 + 4, Size: 4})
	p.equal(0, "", "drop")
	p.unlessLoopback6(8)
	p.at("udp6")
	p.byte(24)
	p.equal(multicast6, "take", "drop")
	p.at("to6")
	p.unlessLoopback6(24)
}

// refusedProgram is a program whose jumps go to labels.
type refusedProgram struct {
	lines  []refusedLine
	labels map[string]int
}

type refusedLine struct {
	do      bpf.Instruction // nil for a jump
	test    bpf.JumpTest
	value   uint32
	yes, no string // labels; empty: the next line
}

func (p *refusedProgram) at(label string) {
	if p.labels == nil {
		p.labels = map[string]int{}
	}
	p.labels[label] = len(p.lines)
}

func (p *refusedProgram) do(i bpf.Instruction) { p.lines = append(p.lines, refusedLine{do: i}) }

func (p *refusedProgram) byte(offset uint32) { p.do(bpf.LoadAbsolute{Off: offset, Size: 1}) }

// indirect loads from behind the header of IPv4.
func (p *refusedProgram) indirect(offset uint32, size int) {
	p.do(bpf.LoadIndirect{Off: offset, Size: size})
}

func (p *refusedProgram) jump(test bpf.JumpTest, value uint32, yes, no string) {
	p.lines = append(p.lines, refusedLine{test: test, value: value, yes: yes, no: no})
}

func (p *refusedProgram) equal(value uint32, yes, no string) {
	p.jump(bpf.JumpEqual, value, yes, no)
}

// unlessLoopback6 takes the packet unless the address at offset is ::1.
func (p *refusedProgram) unlessLoopback6(offset uint32) {
	for word := range uint32(3) {
		p.do(bpf.LoadAbsolute{Off: offset + 4*word, Size: 4})
		p.equal(0, "", "take")
	}
	p.do(bpf.LoadAbsolute{Off: offset + 12, Size: 4})
	p.equal(1, "drop", "take")
}

func (p *refusedProgram) assemble() ([]bpf.RawInstruction, error) {
	code := make([]bpf.Instruction, len(p.lines))
	for i, l := range p.lines {
		if code[i] = l.do; l.do == nil {
			code[i] = bpf.JumpIf{Cond: l.test, Val: l.value, SkipTrue: p.skip(i, l.yes), SkipFalse: p.skip(i, l.no)}
		}
	}
	raw, err := bpf.Assemble(code)
	if err != nil {
		return nil, fmt.Errorf("assemble filter of refused packets: %w", err)
	}
	return raw, nil
}

// skip is how many lines there are from line i to a label.
func (p *refusedProgram) skip(i int, label string) uint8 {
	if label == "" {
		return 0
	}
	return uint8(p.labels[label] - i - 1)
}
