package selftest

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// writeAttempts change what may only be read, or leave the writable tree.
func writeAttempts() (out []Attempt) {
	add := func(name, tries, must string, probe func(*Site) Finding) {
		out = append(out, Attempt{Name: "write." + name, Tries: tries, Must: must, Guarantee: jail.Files, probe: probe})
	}
	for _, p := range []struct{ name, path string }{
		{"usr", "/usr"}, {"usr_bin", "/usr/bin"}, {"usr_local_bin", "/usr/local/bin"}, {"etc", "/etc"}, {"root_directory", "/"}, {"dev", "/dev"}, {"proc", "/proc"}, {"run", "/run"},
	} {
		add("new_in_"+p.name, "make a file in "+p.path, "EROFS or EACCES", func(*Site) Finding {
			name := filepath.Join(p.path, "omnijail-selftest")
			f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
			if err == nil {
				os.Remove(name)
			}
			return opened(f, err)
		})
	}
	out[len(out)-2].NoControl = "nobody makes files in /proc"
	for _, p := range []string{"/etc/passwd", "/etc/hosts", "/etc/resolv.conf", "/bin/sh"} {
		add("open_"+filepath.Base(p), "open "+p+" for writing", "EROFS or EACCES", func(*Site) Finding { return opened(os.OpenFile(p, os.O_WRONLY, 0)) })
	}
	out[len(out)-1].NoControl = "a running program refuses writers"
	add("chmod_passwd", "change the mode of /etc/passwd", "EROFS or EPERM", func(*Site) Finding { return fails(os.Chmod("/etc/passwd", 0o644)) })
	add("chown_passwd", "take /etc/passwd", "EROFS or EPERM", func(*Site) Finding { return fails(os.Chown("/etc/passwd", 0, 0)) })
	add("beside", "leave a file beside the workspace", "nothing is there outside afterwards", func(s *Site) Finding {
		return fails(os.WriteFile(beside(s.Dir), []byte("left"), 0o600))
	})
	out[len(out)-1].after = func(n *node, f Finding) Finding { return n.notLeft(f, beside(n.site.Dir)) }
	add("rename_out", "rename a file out of the workspace", "EXDEV, EROFS or EACCES", func(s *Site) Finding {
		return withFile(s, "moving", func(name string) Finding { return fails(os.Rename(name, beside(s.Dir)+"-moved")) })
	})
	add("link_out", "link a file of the workspace beside it", "EXDEV, EROFS or EACCES", func(s *Site) Finding {
		return withFile(s, "linked", func(name string) Finding { return fails(os.Link(name, beside(s.Dir)+"-linked")) })
	})
	add("link_in", "link a file from outside into the workspace", absent, func(s *Site) Finding {
		return fails(os.Link(s.Secret, filepath.Join(s.Dir, "link-in")))
	})
	add("symlink", "follow one's own link to a file outside", absent, func(s *Site) Finding {
		name := filepath.Join(s.Dir, "symlink")
		if err := os.Symlink(s.Secret, name); err != nil {
			return notRun("%v", err)
		}
		defer os.Remove(name)
		return marked(name)
	})
	add("symlink_relative", "follow one's own relative link to a file outside", absent, func(s *Site) Finding {
		name := filepath.Join(s.Dir, "symlink-relative")
		if err := os.Symlink("../"+filepath.Base(s.Secret), name); err != nil {
			return notRun("%v", err)
		}
		defer os.Remove(name)
		return marked(name)
	})
	add("tmpfile_out", "give an unnamed file a name beside the workspace", "EXDEV, EROFS or EACCES", func(s *Site) Finding {
		fd, err := unix.Open(s.Dir, unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			return notRun("no unnamed files here: %v", err)
		}
		defer unix.Close(fd)
		return fails(unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+itoa(fd), unix.AT_FDCWD, beside(s.Dir)+"-named", unix.AT_SYMLINK_FOLLOW))
	})
	add("block_device", "make a node of the first disk", "EPERM", func(s *Site) Finding { return makeDevice(s, unix.S_IFBLK, unix.Mkdev(8, 0)) })
	add("char_device", "make a node of the node's memory", "EPERM", func(s *Site) Finding { return makeDevice(s, unix.S_IFCHR, unix.Mkdev(1, 1)) })
	add("chown_to_root", "give a file of the workspace to root", "EPERM", func(s *Site) Finding {
		return withFile(s, "chowned", func(name string) Finding { return fails(os.Chown(name, 0, 0)) })
	})
	return out
}

// beside is a name outside of the workspace, as seen from both sides.
func beside(dir string) string { return filepath.Join(filepath.Dir(dir), "left-beside") }

// withFile gives an attempt a file of its own in the workspace.
func withFile(s *Site, name string, probe func(name string) Finding) Finding {
	path := filepath.Join(s.Dir, name)
	if err := os.WriteFile(path, []byte("of the jail"), 0o600); err != nil {
		return notRun("the workspace is not writable: %v", err)
	}
	defer os.Remove(path)
	return probe(path)
}

// readonlyAttempts change a workspace that was not granted for writing.
func readonlyAttempts() (out []Attempt) {
	file := func(s *Site) string { return filepath.Join(s.Dir, plainFile) }
	for _, w := range []struct {
		name, tries string
		try         func(name string) error
	}{
		{"write", "open a file for writing", func(n string) error { return closed(os.OpenFile(n, os.O_WRONLY, 0)) }},
		{"append", "open a file for appending", func(n string) error { return closed(os.OpenFile(n, os.O_WRONLY|os.O_APPEND, 0)) }},
		{"open_trunc", "truncate by opening", func(n string) error { return closed(os.OpenFile(n, os.O_RDONLY|os.O_TRUNC, 0)) }},
		{"truncate", "truncate by name", func(n string) error { return os.Truncate(n, 0) }},
		{"unlink", "remove a file", os.Remove},
		{"rename", "rename a file", func(n string) error { return os.Rename(n, n+"-renamed") }},
		{"exchange", "exchange two files", func(n string) error {
			return unix.Renameat2(unix.AT_FDCWD, n, unix.AT_FDCWD, filepath.Dir(n)+"/.env", unix.RENAME_EXCHANGE)
		}},
		{"chmod", "change a file's mode", func(n string) error { return os.Chmod(n, 0o644) }},
		{"chown", "change a file's owner", func(n string) error { return os.Chown(n, os.Getuid(), os.Getgid()) }},
		{"utimes", "change a file's times", func(n string) error { return unix.Utimes(n, make([]unix.Timeval, 2)) }},
		{"setxattr", "set an attribute", func(n string) error { return unix.Setxattr(n, "user.omnijail", []byte("x"), 0) }},
		{"link", "give a file a second name", func(n string) error { return os.Link(n, n+"-linked") }},
		{"create", "make a file", func(n string) error { return closed(os.Create(n + "-new")) }},
		{"mkdir", "make a directory", func(n string) error { return os.Mkdir(n+"-dir", 0o700) }},
		{"mkfifo", "make a FIFO", func(n string) error { return unix.Mkfifo(n+"-fifo", 0o600) }},
		{"symlink", "make a symbolic link", func(n string) error { return os.Symlink("x", n+"-symlink") }},
		{"bind_socket", "bind a Unix socket", bindUnix},
		{"tmpfile", "make an unnamed file", func(n string) error {
			fd, err := unix.Open(filepath.Dir(n), unix.O_TMPFILE|unix.O_RDWR, 0o600)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}},
		{"reopen", "reopen a read-only descriptor for writing", func(n string) error {
			f, err := os.Open(n)
			if err != nil {
				return err
			}
			defer f.Close()
			return closed(os.OpenFile("/proc/self/fd/"+itoa(int(f.Fd())), os.O_RDWR, 0))
		}},
		{"thread_reopen", "reopen it through a thread's descriptors", func(n string) error {
			f, err := os.Open(n)
			if err != nil {
				return err
			}
			defer f.Close()
			return closed(os.OpenFile("/proc/thread-self/fd/"+itoa(int(f.Fd())), os.O_RDWR, 0))
		}},
	} {
		out = append(out, Attempt{
			Name: "readonly." + w.name, Tries: w.tries + " in a workspace that is granted for reading", Must: "EROFS or EACCES", Guarantee: jail.Files, group: readonly,
			probe: func(s *Site) Finding {
				if s.Write {
					return notRun("the policy grants the workspace for writing")
				}
				if s.Via != "" {
					repair(s)
				}
				if _, err := os.Stat(file(s)); err != nil {
					return notRun("%v", err)
				}
				return fails(w.try(file(s)))
			},
			after: (*node).intact,
		})
	}
	return out
}

func closed(f *os.File, err error) error {
	if err == nil {
		f.Close()
	}
	return err
}

func bindUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrUnix{Name: name + "-socket"})
}
