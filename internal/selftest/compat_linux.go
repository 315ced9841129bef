package selftest

import (
	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// x32Bit marks a call of the x32 ABI, which has amd64's own entry.
const x32Bit = 0x40000000

// compatAttempts use the other ABIs that an amd64 kernel may have. Each has
// numbers of its own, so a filter for the native one does not see them.
func compatAttempts() (out []Attempt) {
	const must = "ENOSYS: an ABI is refused as a whole"
	for _, c := range []struct {
		name, tries string
		nr          uintptr
		args        [3]uintptr
	}{
		{"getpid", "make a harmless call", 20, [3]uintptr{}},
		{"mount", "mount", 21, [3]uintptr{}},
		{"umount2", "unmount", 52, [3]uintptr{}},
		{"ptrace", "trace a process", 26, [3]uintptr{3, 0}},
		{"chroot", "change the root directory", 61, [3]uintptr{}},
		{"ioctl_tiocsti", "type into a terminal", 54, [3]uintptr{0, unix.TIOCSTI}},
		{"socketcall", "make a socket by the multiplexed call", 102, [3]uintptr{1}},
		{"unshare", "unshare a namespace", 310, [3]uintptr{0}},
		{"setns", "enter a namespace", 346, [3]uintptr{0xffffffff}},
		{"personality", "ask for the personality", 136, [3]uintptr{0xffffffff}},
		{"keyctl", "reach a keyring", 288, [3]uintptr{0, 0xfffffffd}},
		{"bpf", "create a BPF map", 357, [3]uintptr{}},
		{"io_uring_setup", "make a ring", 425, [3]uintptr{}},
	} {
		out = append(out, Attempt{
			Name: "i386." + c.name, Tries: c.tries + ", by int 0x80", Must: must, Guarantee: jail.Syscalls, group: compat,
			probe: func(*Site) Finding {
				if !hasInt80 {
					return notRun("this architecture has no int 0x80")
				}
				return reached(result(int80(c.nr, c.args[0], c.args[1], c.args[2])))
			},
		})
	}
	for _, c := range []struct {
		name string
		nr   uintptr
	}{
		{"getpid", 39}, {"mount", 165}, {"unshare", 272}, {"setns", 308}, {"socket", 41}, {"bpf", 321}, {"ptrace", 521}, {"ioctl", 514}, {"execve", 520},
	} {
		out = append(out, Attempt{
			Name: "x32." + c.name, Tries: "call " + c.name + " by its number in the x32 ABI", Must: must, Guarantee: jail.Syscalls,
			NoControl: "few kernels are built with x32", group: compat,
			probe: func(*Site) Finding {
				if !hasInt80 {
					return notRun("this architecture has no x32")
				}
				_, _, errno := unix.Syscall(x32Bit|c.nr, 0, 0, 0)
				return reached(errno)
			},
		})
	}
	return out
}

// unknownCalls have numbers that no kernel has, or none yet.
func unknownCalls() (out []Attempt) {
	for _, c := range []struct {
		name, tries string
		nr          uintptr
	}{
		{"unknown", "a number that no kernel has", 4095},
		{"unknown_far", "the highest number that the low half of a register holds", 0x7fffffff},
	} {
		out = append(out, Attempt{
			Name: "call." + c.name, Tries: c.tries, Must: "ENOSYS", Guarantee: jail.Syscalls, NoControl: "no kernel has it", group: compat,
			probe: func(*Site) Finding {
				_, _, errno := unix.Syscall(c.nr, 0, 0, 0)
				return reached(errno)
			},
		})
	}
	return out
}

// result splits what int80 returned.
func result(r int32) unix.Errno {
	if r < 0 && r > -4096 {
		return unix.Errno(-r)
	}
	return 0
}
