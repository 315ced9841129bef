//go:build linux && cgo

package main

import (
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// rule gives one system call an answer, when all its conditions hold. A call
// may have several rules; any of them decides.
type rule struct {
	call  string
	errno unix.Errno // 0 allows
	when  []libseccomp.ScmpCondition
}

// filter is a whole program before it is compiled.
type filter struct {
	name     string
	fallback unix.Errno // of calls without a rule; 0 allows
	notify   bool       // the rules have no answer: a process outside is asked
	compat   bool       // judge the 32-bit ABI too, instead of refusing it whole
	rules    []rule
}

// refuse returns one unconditional rule per call.
func refuse(errno unix.Errno, calls ...string) []rule {
	var rules []rule
	for _, c := range calls {
		rules = append(rules, rule{call: c, errno: errno})
	}
	return rules
}

// low tests the low 32 bits of an argument: (arg & mask) == value. The kernel
// reads an int from the low half of the register alone, so a test of all 64 bits
// would be passed by socket(0x1_0000_0028, …).
func low(arg uint, mask, value uint32) libseccomp.ScmpCondition {
	return libseccomp.ScmpCondition{
		Argument: arg, Op: libseccomp.CompareMaskedEqual,
		Operand1: uint64(mask), Operand2: uint64(value),
	}
}

// equal tests that the low 32 bits of an argument are value.
func equal(arg uint, value uint32) libseccomp.ScmpCondition { return low(arg, ^uint32(0), value) }

// set tests that every one of bits is set.
func set(arg uint, bits uint32) libseccomp.ScmpCondition { return low(arg, bits, bits) }

// null tests that an argument is a null pointer. The kernel reads all 64
// bits of a pointer, and so does this.
func null(arg uint) libseccomp.ScmpCondition {
	return libseccomp.ScmpCondition{Argument: arg, Op: libseccomp.CompareEqual}
}

// notNull is the opposite of null.
func notNull(arg uint) libseccomp.ScmpCondition {
	return libseccomp.ScmpCondition{Argument: arg, Op: libseccomp.CompareNotEqual}
}

// otherThan covers every 32-bit number but values by masked tests, as a
// routing table covers an address space by prefixes: libseccomp has no masked
// "not equal".
func otherThan(arg uint, values ...uint32) []libseccomp.ScmpCondition {
	return cover(arg, 0, 32, values)
}

// cover covers the block of size 2^bits at base.
func cover(arg uint, base uint64, bits int, values []uint32) []libseccomp.ScmpCondition {
	var inside []uint32
	for _, v := range values {
		if uint64(v)>>bits == base>>bits {
			inside = append(inside, v)
		}
	}
	if len(inside) == 0 {
		mask := uint32(^uint64(0) << bits)
		return []libseccomp.ScmpCondition{low(arg, mask, uint32(base))}
	}
	if bits == 0 {
		return nil
	}
	half := uint64(1) << (bits - 1)
	return append(cover(arg, base, bits-1, inside), cover(arg, base+half, bits-1, inside)...)
}

func conds(cs ...libseccomp.ScmpCondition) []libseccomp.ScmpCondition { return cs }
