package confine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// execute replaces this program with the egress process. It returns only on
// failure.
func execute() error {
	argv, err := cStrings("omnijaild", "egress")
	if err != nil {
		return err
	}
	envp, err := cStrings("GOTRACEBACK=none")
	if err != nil {
		return err
	}
	empty, err := unix.BytePtrFromString("")
	if err != nil {
		return err
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_EXECVEAT, exeFD, uintptr(unsafe.Pointer(empty)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envp[0])), unix.AT_EMPTY_PATH, 0)
	runtime.KeepAlive(argv)
	runtime.KeepAlive(envp)
	return errno
}

func cStrings(words ...string) ([]*byte, error) {
	list := make([]*byte, 0, len(words)+1)
	for _, w := range words {
		p, err := unix.BytePtrFromString(w)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return append(list, nil), nil
}
