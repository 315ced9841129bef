package selftest

const hasInt80 = true

// int80 makes a call of the i386 ABI. Where the kernel does not have that ABI it
// ends the process.
//
//go:noescape
func int80(nr, a, b, c uintptr) int32
