package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/seccomp"
)

// targets are what the test has prepared outside.
type targets struct {
	Path, Abstract, TCP string
	Fenced              []string
}

// attack tries what a taken-over egress process would, before and after its own
// filter, and prints what came of each try.
func attack() {
	open := descriptors()
	var t targets
	buf := make([]byte, 64<<10)
	n, err := unix.Read(3, buf)
	if err == nil {
		err = json.Unmarshal(buf[:n], &t)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	report := map[string]string{"descriptors": open}
	try := func(phase string, tries map[string]func() error) {
		for name, f := range tries {
			report[phase+name] = outcome(f())
		}
	}
	identity(report)
	try("cage ", files(t))
	filter, err := seccomp.Egress()
	if err == nil {
		err = filter.InstallAll()
	}
	report["filter"] = outcome(err)
	try("filter ", files(t))
	try("filter ", calls(t))
	out, _ := json.Marshal(report)
	os.Stdout.Write(out)
}

func outcome(err error) string {
	var no syscall.Errno
	if err == nil {
		return "ok"
	}
	for e := err; e != nil; {
		if v, ok := e.(syscall.Errno); ok {
			no = v
			break
		}
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			return err.Error()
		}
		e = u.Unwrap()
	}
	return unix.ErrnoName(no)
}

// descriptors lists what is open beyond 0, 1 and 2, but for the anonymous ones of
// the runtime.
func descriptors() string {
	var open []string
	for fd := 3; fd < 256; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT != 0 {
			open = append(open, fmt.Sprintf("%d:%o", fd, st.Mode&unix.S_IFMT))
		}
	}
	return strings.Join(open, " ")
}

func identity(report map[string]string) {
	r, e, s := unix.Getresuid()
	report["uids"] = fmt.Sprint(r, e, s)
	r, e, s = unix.Getresgid()
	report["gids"] = fmt.Sprint(r, e, s)
	groups, _ := os.Getgroups()
	report["groups"] = fmt.Sprint(groups)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	unix.Capget(&header, &data[0])
	report["caps"] = fmt.Sprint(data == [2]unix.CapUserData{})
	bounding := 0
	for c := uintptr(0); c < 64; c++ {
		if in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err == nil && in == 1 {
			bounding++
		}
	}
	report["bounding"] = fmt.Sprint(bounding)
	nnp, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	report["nnp"] = fmt.Sprint(nnp)
	report["pid"] = fmt.Sprint(os.Getpid())
	report["environment"] = strings.Join(os.Environ(), " ")
	var core unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_CORE, &core)
	report["core"] = fmt.Sprint(core.Cur, core.Max)
	names, _ := os.ReadDir("/")
	report["root"] = fmt.Sprint(names)
}

// files are tries that the cage alone must stop.
func files(t targets) map[string]func() error {
	read := func(name string) func() error {
		return func() error { _, err := os.ReadDir(name); return err }
	}
	write := func(name string, flags int) func() error {
		return func() error {
			f, err := os.OpenFile(name, flags, 0o600)
			if err == nil {
				f.Close()
			}
			return err
		}
	}
	tries := map[string]func() error{
		"read /etc/hosts":     func() error { _, err := os.ReadFile("/etc/hosts"); return err },
		"read /etc/shadow":    func() error { _, err := os.ReadFile("/etc/shadow"); return err },
		"list /root":          read("/root"),
		"list /home":          read("/home"),
		"list /proc":          read("/proc"),
		"list /usr":           read("/usr"),
		"list old root":       read("../../../../usr"),
		"create /etc/x":       write("/etc/x", os.O_CREATE|os.O_WRONLY),
		"create /x":           write("/x", os.O_CREATE|os.O_WRONLY),
		"write /etc/hosts":    write("/etc/hosts", os.O_WRONLY),
		"truncate /etc/hosts": write("/etc/hosts", os.O_RDONLY|os.O_TRUNC),
		"socket path":         func() error { return connectUnix(t.Path) },
		"abstract socket":     func() error { return connectUnix(t.Abstract) },
		"become root":         func() error { return unix.Setuid(0) },
		"signal outside":      func() error { return unix.Kill(2, 0) },
		"mount":               func() error { return unix.Mount("x", "/etc", "tmpfs", 0, "") },
		"bind a port":         bindTCP,
		"tcp":                 func() error { return dialTCP(t.TCP) },
	}
	for _, to := range t.Fenced {
		for _, how := range []string{"tcp", "udp", "send"} {
			tries[how+" "+to] = func() error { return reach(how, netip.MustParseAddrPort(to)) }
		}
	}
	return tries
}

// reach names a destination to the kernel, by one of three calls.
func reach(how string, at netip.AddrPort) error {
	family, kind := unix.AF_INET6, unix.SOCK_DGRAM
	var to unix.Sockaddr = &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
	if a := at.Addr(); a.Is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: int(at.Port()), Addr: a.As4()}
	}
	if how == "tcp" {
		kind = unix.SOCK_STREAM
	}
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if how == "send" {
		return unix.Sendto(fd, []byte("x"), 0, to)
	}
	return unix.Connect(fd, to)
}

// calls are tries that the filter must stop, whatever the cage does.
func calls(t targets) map[string]func() error {
	raw := func(nr uintptr, a ...uintptr) func() error {
		return func() error {
			var v [6]uintptr
			copy(v[:], a)
			_, _, e := unix.Syscall6(nr, v[0], v[1], v[2], v[3], v[4], v[5])
			if e != 0 {
				return e
			}
			return nil
		}
	}
	path, _ := unix.BytePtrFromString("/etc/hosts")
	p := uintptr(unsafe.Pointer(path))
	return map[string]func() error{
		"execve":          raw(unix.SYS_EXECVE, p),
		"execveat":        raw(unix.SYS_EXECVEAT, 3, p),
		"unix socket":     raw(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM),
		"unix socket hi":  raw(unix.SYS_SOCKET, 1<<32|unix.AF_UNIX, unix.SOCK_STREAM),
		"socketpair":      raw(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, p),
		"vsock":           raw(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM),
		"packet socket":   raw(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW),
		"raw socket":      raw(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"ptrace":          raw(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 2),
		"process_vm":      raw(unix.SYS_PROCESS_VM_READV, 1),
		"user namespace":  raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		"fork":            raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)),
		"clone3":          raw(unix.SYS_CLONE3),
		"kill":            raw(unix.SYS_KILL, 1, 0),
		"pidfd":           raw(unix.SYS_PIDFD_OPEN, 1),
		"memfd":           raw(unix.SYS_MEMFD_CREATE, p),
		"bpf":             raw(unix.SYS_BPF),
		"io_uring":        raw(unix.SYS_IO_URING_SETUP, 1),
		"keyctl":          raw(unix.SYS_KEYCTL),
		"be dumpable":     raw(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1),
		"raise core":      raw(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, p),
		"executable page": raw(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON, ^uintptr(0)),
		"unlink":          raw(unix.SYS_UNLINKAT, ^uintptr(99), p),
	}
}

func connectUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}

func bindTCP() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
}

func dialTCP(addr string) error {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.ReadAll(c)
	return err
}
