package selftest

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// sysCall is one system call with arguments that reach the kernel without doing
// harm when nothing stops them.
type sysCall struct {
	name  string // below "call."
	tries string
	nr    uintptr // missing where this architecture does not have it
	args  [6]uintptr
	after func(result uintptr) // undoes what worked
}

// missing is the number of a call that an architecture does not have.
const missing = ^uintptr(0)

// amd64Only is nr on amd64, whose older calls arm64 never got.
func amd64Only(nr uintptr) uintptr {
	if runtime.GOARCH == "amd64" {
		return nr
	}
	return missing
}

// high is a bit that the kernel does not read in an argument of type int. A
// filter that compares whole registers does not see what is below it.
const high = 1 << 32

// The memory that arguments point to. It stays where it is.
var (
	zeroes    [4096]byte
	rootPath  = [...]byte{'/', 0}
	noPath    = []byte("/nonexistent/omnijail\x00")
	emptyText = [...]byte{0}
	keyType   = []byte("user\x00")
	keyName   = []byte("omnijail-selftest\x00")
	tmpfsName = []byte("tmpfs\x00")
)

func at(b *byte) uintptr { return uintptr(unsafe.Pointer(b)) }

var (
	zero  = at(&zeroes[0])
	slash = at(&rootPath[0])
	none  = at(&noPath[0])
	empty = at(&emptyText[0])
)

// cwdFD is AT_FDCWD as a register holds it.
var cwdFD = fdRegister(unix.AT_FDCWD)

func fdRegister(fd int) uintptr { return uintptr(fd) }

const filtered = "EPERM or ENOSYS, before the kernel looks at the arguments"

// attempt makes an Attempt of c. Only an answer of the filter's is a refusal: any
// other error means that the kernel's own code for the call was reached.
func (c sysCall) attempt() Attempt {
	return Attempt{
		Name: "call." + c.name, Tries: c.tries, Must: filtered, Guarantee: jail.Syscalls,
		probe: func(*Site) Finding {
			if c.nr == missing {
				return notRun("%s has no such call", runtime.GOARCH)
			}
			r, _, errno := unix.Syscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
			if errno == 0 && c.after != nil {
				c.after(r)
			}
			return reached(errno)
		},
	}
}

func reached(errno unix.Errno) Finding {
	switch {
	case errno == 0:
		return succeeded("it worked")
	case errno == unix.EPERM || errno == unix.ENOSYS:
		return refused("%v", errno)
	}
	return succeeded("it reached the kernel: %v", errno)
}

func closeResult(r uintptr) { unix.Close(int(r)) }

func args(a ...uintptr) (out [6]uintptr) {
	copy(out[:], a)
	return out
}

// callAttempts are the calls that no jail may make.
func callAttempts() (out []Attempt) {
	for _, list := range [][]sysCall{kernelCode, wholeNode, mountCalls, looking, memory, newer} {
		for _, c := range list {
			out = append(out, c.attempt())
		}
	}
	return append(out, unknownCalls()...)
}
