package scout

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// controlPrograms are those whose sockets mean code outside of the jail: who is
// connected to one has it run programs, read what is on the screen, type, or sign.
var controlPrograms = map[string]string{
	"dockerd": "docker", "containerd": "containerd", "containerd-shim": "containerd", "containerd-shim-runc-v2": "containerd",
	"docker-proxy": "docker", "rootlesskit": "docker", "podman": "podman", "conmon": "podman", "crio": "cri-o", "buildkitd": "buildkit",
	"dbus-daemon": "dbus", "dbus-broker": "dbus", "dbus-broker-launch": "dbus", "systemd": "systemd", "systemd-journald": "systemd",
	"Xorg": "X11", "Xwayland": "X11", "Xvfb": "X11", "Xvnc": "X11",
	"gnome-shell": "Wayland", "kwin_wayland": "Wayland", "sway": "Wayland", "weston": "Wayland", "Hyprland": "Wayland",
	"tmux": "tmux", "tmux: server": "tmux", "screen": "screen", "zellij": "zellij", "dtach": "dtach", "abduco": "abduco",
	"gpg-agent": "gpg-agent", "scdaemon": "gpg-agent", "keyboxd": "gpg-agent", "ssh-agent": "ssh-agent",
	"gnome-keyring-daemon": "keyring", "gnome-keyring-d": "keyring", "kwalletd6": "keyring", "kwalletd5": "keyring",
	"omnijaild": "omnijail",
}

// controlPlaces are where such sockets lie, as globs. UID and HOME are the
// caller's.
var controlPlaces = map[string][]string{
	"docker":     {"/run/docker.sock", "/run/user/UID/docker.sock", "HOME/.docker/run/*.sock", "HOME/.docker/desktop/*.sock", "HOME/.colima/*/docker.sock"},
	"containerd": {"/run/containerd/*.sock", "/run/containerd/*/*.sock", "/run/user/UID/containerd/*.sock", "/run/k3s/containerd/*.sock"},
	"podman":     {"/run/podman/*.sock", "/run/user/UID/podman/*.sock"},
	"cri-o":      {"/run/crio/*.sock"},
	"buildkit":   {"/run/buildkit/*.sock", "/run/user/UID/buildkit/*.sock"},
	"dbus":       {"/run/dbus/system_bus_socket", "/run/user/UID/bus"},
	"systemd":    {"/run/systemd/private", "/run/systemd/notify", "/run/systemd/io.*", "/run/systemd/*/*", "/run/user/UID/systemd/*"},
	"X11":        {"/tmp/.X11-unix/X*"},
	"Wayland":    {"/run/user/UID/wayland-*"},
	"tmux":       {"/tmp/tmux-UID/*", "/run/user/UID/tmux-UID/*"},
	"screen":     {"/run/screen/S-*/*"},
	"gpg-agent":  {"HOME/.gnupg/S.*", "/run/user/UID/gnupg/S.*", "/run/user/UID/gnupg/*/S.*"},
	"ssh-agent":  {"/tmp/ssh-*/agent.*", "/run/user/UID/ssh-agent*", "/run/user/UID/openssh_agent", "HOME/.ssh/agent/*"},
	"keyring":    {"/run/user/UID/keyring/*"},
}

// controls says what the socket f, whose canonical path is p, commands outside of
// the jail; empty for nothing that is known. It is told by the file, whatever it is
// called here, and by the program that listens.
func (s *session) controls(f *os.File, p string) (string, error) {
	st, id, err := stat(f)
	if err != nil {
		return "", err
	}
	for _, listener := range s.ask.Listeners {
		if isFile(listener, id) {
			return "omnijail", nil
		}
	}
	here := strings.NewReplacer("UID", strconv.Itoa(int(s.req.User.UID)), "HOME", s.req.User.Home)
	for what, globs := range controlPlaces {
		for _, glob := range globs {
			places, _ := filepath.Glob(here.Replace(glob))
			for _, place := range places {
				if place == p || isFile(place, id) {
					return what, nil
				}
			}
		}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return "", nil
	}
	return s.listenerOf(id, p, int(st.Uid) == unix.Geteuid())
}

// isFile reports whether the path p leads to the file id.
func isFile(p string, id inode) bool {
	var st unix.Stat_t
	return unix.Stat(p, &st) == nil && id == inode{uint64(st.Dev), st.Ino}
}

// listenerOf names what program listens on the socket id, if that commands
// something. One of the caller's that hides from its own user, as the keepers of
// keys do, is taken for one.
func (s *session) listenerOf(id inode, p string, own bool) (string, error) {
	sockets, err := boundTo(id, p)
	if err != nil || len(sockets) == 0 {
		return "", err // nobody listens
	}
	found := false
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return "", err
	}
	for _, proc := range procs {
		if !holds(proc, sockets) {
			continue
		}
		found = true
		for _, program := range programNames(proc) {
			if what := controlPrograms[program]; what != "" {
				return what, nil
			}
		}
	}
	if !found && own {
		return "a program that hides itself from you, as agents do", nil
	}
	return "", nil
}

// boundTo returns the kernel's numbers of the sockets bound to the file id, as they
// stand in /proc. A socket that was bound by a relative path is told by its name.
func boundTo(id inode, p string) (map[string]bool, error) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, fmt.Errorf("list Unix sockets: %w", err)
	}
	sockets := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 8)
		if fields := strings.Fields(line); len(fields) >= 8 {
			bound := f[len(f)-1]
			bound = bound[strings.IndexByte(bound, ' ')+1:]
			if strings.HasPrefix(bound, "/") && isFile(bound, id) || !strings.HasPrefix(bound, "/") && filepath.Base(bound) == filepath.Base(p) {
				sockets["socket:["+fields[6]+"]"] = true
			}
		}
	}
	return sockets, nil
}

// holds reports whether the process has one of the sockets open, as far as the
// caller may know.
func holds(proc string, sockets map[string]bool) bool {
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if target, err := os.Readlink(proc + "/fd/" + fd.Name()); err == nil && sockets[target] {
			return true
		}
	}
	return false
}

// programNames are the names that a process goes by.
func programNames(proc string) (names []string) {
	if exe, err := os.Readlink(proc + "/exe"); err == nil {
		names = append(names, strings.TrimSuffix(filepath.Base(exe), " (deleted)"))
	}
	if comm, err := os.ReadFile(proc + "/comm"); err == nil {
		names = append(names, strings.TrimSpace(string(comm)))
	}
	return names
}
