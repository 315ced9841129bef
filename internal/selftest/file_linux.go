package selftest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

const absent = "it is not there"

// fileAttempts reach for files that no grant gives.
func fileAttempts() (out []Attempt) {
	add := func(name, tries, must string, probe func(*Site) Finding) {
		out = append(out, Attempt{Name: "file." + name, Tries: tries, Must: must, Guarantee: jail.Files, probe: probe})
	}
	read := func(path func(*Site) string) func(*Site) Finding {
		return func(s *Site) Finding { return marked(path(s)) }
	}
	add("beside", "read a file of the caller's beside the workspace", absent, read(func(s *Site) string { return s.Secret }))
	add("dotdot", "read it through ..", absent, read(func(s *Site) string { return s.Dir + "/../" + filepath.Base(s.Secret) }))
	add("self_root", "read it through /proc/self/root", absent, read(func(s *Site) string { return "/proc/self/root" + s.Secret }))
	add("self_cwd", "read it through /proc/self/cwd", absent, read(func(s *Site) string { return "/proc/self/cwd/../" + filepath.Base(s.Secret) }))
	add("init_root", "read it through /proc/1/root", absent, read(func(s *Site) string { return "/proc/1/root" + s.Secret }))
	add("init_cwd", "read it through the working directory of process 1", absent, read(func(s *Site) string { return "/proc/1/cwd" + strings.Repeat("/..", 32) + s.Secret }))
	add("victim_root", "read it through the root of a process outside", absent, read(func(s *Site) string {
		return "/proc/" + itoa(s.Victim) + "/root" + s.Secret
	}))
	add("fd_dotdot", "walk up from a descriptor of the working directory", absent, func(s *Site) Finding {
		fd, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return notRun("no descriptor of the working directory: %v", err)
		}
		defer unix.Close(fd)
		up := strings.Repeat("../", 32)
		f, err := unix.Openat(fd, up+strings.TrimPrefix(s.Secret, "/"), unix.O_RDONLY, 0)
		if err != nil {
			return refused("%v", err)
		}
		defer unix.Close(f)
		return markedFile(os.NewFile(uintptr(f), s.Secret))
	})
	add("handle", "open the root of the file system by a made-up handle", "EPERM", byHandle)
	add("home", "see the caller's real home", "the home inside holds nothing of it", func(s *Site) Finding {
		if s.HomeEntry == "" {
			return notRun("the caller's home is empty or not readable")
		}
		if _, err := os.Lstat(filepath.Join(s.Home, s.HomeEntry)); err != nil {
			return refused("%v", err)
		}
		return succeeded("%s is there", s.HomeEntry)
	})
	for _, d := range []struct{ name, path string }{
		{"shadow", "/etc/shadow"}, {"sudoers", "/etc/sudoers"}, {"ssh_host_keys", "/etc/ssh"}, {"private_keys", "/etc/ssl/private"}, {"root_home", "/root"},
		{"var_log", "/var/log"}, {"var_lib", "/var/lib"}, {"var_spool", "/var/spool"}, {"boot", "/boot"}, {"mnt", "/mnt"}, {"srv", "/srv"}, {"run_user", "/run/user"},
		{"run_systemd", "/run/systemd"}, {"run_lock", "/run/lock"}, {"sys_kernel", "/sys/kernel"}, {"sys_firmware", "/sys/firmware"}, {"sys_fs", "/sys/fs"},
		{"sys_class", "/sys/class"}, {"sys_block", "/sys/block"}, {"sys_module", "/sys/module"},
	} {
		add("see_"+d.name, "find "+d.path, absent, func(s *Site) Finding { return found(d.path, s.Home, s.Dir) })
		out[len(out)-1].needs = d.path
	}
	add("devices", "find a device besides null, zero, full, random, urandom and tty", absent, otherDevices)
	for _, name := range []string{"mem", "kmsg", "kvm", "fuse", "net/tun", "vsock", "console"} {
		path := "/dev/" + name
		add("dev_"+strings.ReplaceAll(name, "/", "_"), "open "+path, absent, func(*Site) Finding { return opened(os.Open(path)) })
		out[len(out)-1].needs = path
	}
	return out
}

// found looks for path, and for anything in it besides the way to places that a jail
// has of its own: a service's user may have its home in /var/lib or /srv.
func found(path string, places ...string) Finding {
	places = slices.DeleteFunc(slices.Clone(places), func(p string) bool { return !jail.Within(path, p) })
	if slices.Contains(places, path) {
		return refused("it is a place of the jail's own")
	}
	names, err := os.ReadDir(path)
	if err != nil || len(places) == 0 {
		_, err := os.Lstat(path)
		return fails(err)
	}
	for _, e := range names {
		in := filepath.Join(path, e.Name())
		if !slices.ContainsFunc(places, func(p string) bool { return jail.Within(in, p) }) {
			return succeeded("%s is there", in)
		}
		if f := found(in, places...); f.Result == Succeeded {
			return f
		}
	}
	return refused("it holds nothing but the way to %s", places[0])
}

// marked reports whether a file holds what was planted outside.
func marked(path string) Finding {
	f, err := os.Open(path)
	if err != nil {
		return refused("%v", err)
	}
	return markedFile(f)
}

func markedFile(f *os.File) Finding {
	defer f.Close()
	b := make([]byte, 256)
	n, err := f.Read(b)
	if err != nil {
		return refused("%v", err)
	}
	if strings.Contains(string(b[:n]), Marker) {
		return succeeded("%s was read", f.Name())
	}
	return refused("what is there is not what was planted")
}

// byHandle makes the handle that inode 2, the root of most file systems, has.
func byHandle(s *Site) Finding {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.Dir, 0)
	if err != nil {
		return notRun("this file system has no handles: %v", err)
	}
	fd, err := unix.Open(s.Dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return notRun("%v", err)
	}
	defer unix.Close(fd)
	got, err := unix.OpenByHandleAt(fd, handle, unix.O_RDONLY)
	if err == nil {
		unix.Close(got)
	}
	return fails(err)
}

func otherDevices(*Site) Finding {
	known := map[string]bool{"full": true, "null": true, "random": true, "tty": true, "urandom": true, "zero": true}
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return notRun("%v", err)
	}
	for _, e := range entries {
		if e.Type()&os.ModeDevice != 0 && !known[e.Name()] {
			return succeeded("there is /dev/%s", e.Name())
		}
	}
	return refused("there is no other")
}

// makeDevice makes a node of the device with these numbers.
func makeDevice(s *Site, mode uint32, dev uint64) Finding {
	if !s.Write {
		return notRun("the workspace is not writable")
	}
	name := filepath.Join(s.Dir, "device")
	if err := unix.Mknod(name, mode|0o600, int(dev)); err != nil {
		return refused("%v", err)
	}
	defer os.Remove(name)
	return succeeded("the node was made")
}
