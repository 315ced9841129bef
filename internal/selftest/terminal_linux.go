package selftest

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// terminalAttempts run with a terminal. What is typed into it would be read by
// whoever reads from it next.
func terminalAttempts() (out []Attempt) {
	letter := [1]byte{'x'}
	add := func(name, tries, must string, g jail.Guarantee, probe func(s *Site, tty *os.File) Finding) *Attempt {
		out = append(out, Attempt{
			Name: "tty." + name, Tries: tries, Must: must, Guarantee: g, group: terminal,
			probe: func(s *Site) Finding {
				tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
				if err != nil {
					return notRun("no terminal: %v", err)
				}
				defer tty.Close()
				return probe(s, tty)
			},
		})
		return &out[len(out)-1]
	}
	ioctl := func(request uintptr, arg unsafe.Pointer) func(*Site, *os.File) Finding {
		return func(_ *Site, tty *os.File) Finding {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, tty.Fd(), request, uintptr(arg))
			return reached(errno)
		}
	}
	three := [1]byte{3}
	add("tiocsti", "type into the terminal", "EPERM", jail.Syscalls, ioctl(unix.TIOCSTI, unsafe.Pointer(&letter)))
	add("tiocsti_high", "the same with a bit above the argument", "EPERM", jail.Syscalls, ioctl(high|unix.TIOCSTI, unsafe.Pointer(&letter)))
	add("tioclinux", "paste the console's selection", "EPERM", jail.Syscalls, ioctl(unix.TIOCLINUX, unsafe.Pointer(&three)))
	add("tioclinux_high", "the same with a bit above the argument", "EPERM", jail.Syscalls, ioctl(high|unix.TIOCLINUX, unsafe.Pointer(&three)))
	add("tioccons", "have the console's output", "EPERM", jail.NoPrivilege, func(_ *Site, tty *os.File) Finding {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, tty.Fd(), unix.TIOCCONS, 0)
		return fails(orNil(errno))
	}).NoControl = "it would take the node's console"
	add("steal", "take the terminal from its session", "EPERM", jail.NoPrivilege, func(_ *Site, tty *os.File) Finding {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, tty.Fd(), unix.TIOCSCTTY, 1)
		if errno == 0 {
			if sid, _ := unix.Getsid(0); sid == os.Getpid() {
				return refused("it is this session's own already")
			}
		}
		return fails(orNil(errno))
	}).NoControl = "the session that the probe leads has its terminal already"
	add("node_pts", "find a terminal of the node's in /dev/pts", absent, jail.Files, func(*Site, *os.File) Finding {
		entries, err := os.ReadDir("/dev/pts")
		if err != nil {
			return notRun("%v", err)
		}
		for _, e := range entries {
			if e.Name() != "0" && e.Name() != "ptmx" {
				return succeeded("there is /dev/pts/%s", e.Name())
			}
		}
		return refused("the jail's own alone")
	})
	add("own_pts", "have a terminal of the node's", "a devpts of the jail's own", jail.Files, func(site *Site, _ *os.File) Finding {
		var st unix.Stat_t
		if err := unix.Fstat(0, &st); err != nil || site.Terminals == 0 {
			return notRun("no terminals to compare: %v", err)
		}
		if uint64(st.Dev) == site.Terminals {
			return succeeded("it is one of the node's")
		}
		return refused("it is on another device")
	})
	add("console", "open the node's console", absent, jail.Files, func(*Site, *os.File) Finding {
		for _, name := range []string{"/dev/console", "/dev/tty0", "/dev/tty1", "/dev/ttyS0"} {
			if f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0); err == nil {
				f.Close()
				return succeeded("%s is there", name)
			}
		}
		return refused("none is there")
	}).NoControl = "not every node has one"
	return out
}

func orNil(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
