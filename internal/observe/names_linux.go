package observe

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/unix"
)

// need is what a call needs of the file that it names.
type need uint8

const (
	reads   need = iota + 1 // the file is there
	writes                  // it can be written or, if it is not there, made
	entries                 // its directory can be written
)

// look is one call to look at: a file, or the number of a call that was refused.
type look struct {
	call int32 // of a refused call; 0 stands with a path
	need need
	path string // clean and absolute, as the jail has it
}

// operand says which arguments of a call name a file. A directory of -1 is the
// working directory.
type operand struct {
	dir, path int
	need      need
}

// operands of the calls of the table. The need of an open depends on its flags.
var operands = map[string][]operand{
	"open": {{-1, 0, reads}}, "openat": {{0, 1, reads}}, "creat": {{-1, 0, writes}}, "execve": {{-1, 0, reads}},
	"stat": {{-1, 0, reads}}, "lstat": {{-1, 0, reads}}, "newfstatat": {{0, 1, reads}}, "statx": {{0, 1, reads}},
	"access": {{-1, 0, reads}}, "faccessat": {{0, 1, reads}}, "faccessat2": {{0, 1, reads}},
	"mkdir": {{-1, 0, entries}}, "mkdirat": {{0, 1, entries}}, "mknod": {{-1, 0, entries}}, "mknodat": {{0, 1, entries}},
	"symlink": {{-1, 1, entries}}, "symlinkat": {{1, 2, entries}}, "link": {{-1, 1, entries}}, "linkat": {{2, 3, entries}},
	"rename": {{-1, 0, entries}, {-1, 1, entries}}, "renameat": {{0, 1, entries}, {2, 3, entries}},
	"renameat2": {{0, 1, entries}, {2, 3, entries}},
	"unlink":    {{-1, 0, entries}}, "unlinkat": {{0, 1, entries}}, "rmdir": {{-1, 0, entries}},
	"truncate": {{-1, 0, writes}}, "chmod": {{-1, 0, writes}}, "fchmodat": {{0, 1, writes}}, "fchmodat2": {{0, 1, writes}},
	"chown": {{-1, 0, writes}}, "lchown": {{-1, 0, writes}}, "fchownat": {{0, 1, writes}}, "utimensat": {{0, 1, writes}},
}

// openFlags is the argument with the flags of an open.
var openFlags = map[string]int{"open": 1, "openat": 2}

// names reads what a call names. What cannot be read is not looked at.
func (o *observer) names(n *notification, call string) (looks []look) {
	for _, op := range operands[call] {
		if at, ok := openFlags[call]; ok {
			const changes = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC
			if n.args[at]&changes != unix.O_RDONLY && n.args[at]&unix.O_PATH == 0 {
				op.need = writes
			}
		}
		name, ok := text(n.pid, n.args[op.path])
		if !ok {
			continue
		}
		if !path.IsAbs(name) {
			dir, ok := directory(n, op.dir)
			if !ok {
				continue
			}
			name = dir + "/" + name
		}
		looks = append(looks, look{need: op.need, path: path.Clean(name)})
	}
	if len(looks) > 0 && o.root == nil {
		o.root, _ = os.OpenFile(fmt.Sprintf("/proc/%d/root", n.pid), unix.O_PATH, 0)
	}
	// Another process may have had the number by then.
	if id := n.id; o.root == nil || o.ioctl(isValid, unsafe.Pointer(&id)) != 0 {
		return nil
	}
	return looks
}

// directory is the path of a directory of the process's, as the jail has it: the
// links of /proc name files from the root of their own mounts.
func directory(n *notification, arg int) (string, bool) {
	link := fmt.Sprintf("/proc/%d/cwd", n.pid)
	if arg >= 0 && int32(n.args[arg]) != unix.AT_FDCWD {
		link = fmt.Sprintf("/proc/%d/fd/%d", n.pid, int32(n.args[arg]))
	}
	dir, err := os.Readlink(link)
	return dir, err == nil && path.IsAbs(dir) && !strings.HasSuffix(dir, " (deleted)")
}

// text reads a string of the process's memory, as long as a path may be.
func text(pid uint32, at uint64) (string, bool) {
	const page = 4096
	if at == 0 {
		return "", false
	}
	var buf [unix.PathMax]byte
	// In two parts: the second page may not be there, and need not.
	first := min(page-int(at%page), len(buf))
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	remote := []unix.RemoteIovec{{Base: uintptr(at), Len: first}, {Base: uintptr(at) + uintptr(first), Len: len(buf) - first}}
	got, err := unix.ProcessVMReadv(int(pid), local, remote, 0)
	if err != nil {
		return "", false
	}
	end := bytes.IndexByte(buf[:got], 0)
	if end <= 0 || !utf8.Valid(buf[:end]) {
		return "", false
	}
	return string(buf[:end]), true
}

// tracing is why this kernel lets nobody look into a process of the same user;
// empty where it does.
func tracing() string {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return "" // there is no Yama
	}
	scope := strings.TrimSpace(string(b))
	if n, err := strconv.Atoi(scope); err == nil && n == 0 {
		return ""
	}
	return scope
}
