package scout

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readMounts reads the mounts of this namespace.
func readMounts() (mounts, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(text)
}

// fdinfo returns the flags and the mount id of a descriptor. It never asks the
// file system, so it cannot hang.
func fdinfo(f *os.File) (flags int, mnt uint64, err error) {
	text, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return 0, 0, err
	}
	seen := 0
	for line := range bytes.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		value = strings.TrimSpace(value)
		var n uint64
		switch key {
		case "flags":
			n, err = strconv.ParseUint(value, 8, 32)
			flags = int(n)
			seen++
		case "mnt_id":
			mnt, err = strconv.ParseUint(value, 10, 64)
			seen++
		}
		if err != nil {
			return 0, 0, fmt.Errorf("fdinfo: %w", err)
		}
	}
	if seen < 2 {
		return 0, 0, fmt.Errorf("fdinfo of %s lacks flags or mnt_id", f.Name())
	}
	return flags, mnt, nil
}

// of returns the mount that f was opened on; ok is false for files that are on no
// mount of this namespace, such as pipes, memfds and detached trees.
func (ms mounts) of(f *os.File) (mount, bool, error) {
	_, id, err := fdinfo(f)
	if err != nil {
		return mount{}, false, err
	}
	m, ok := ms[id]
	return m, ok, nil
}

// position is where a file lies in its file system, which all mounts of it share.
type position struct{ dev, path string }

// position of f, whose canonical path is p.
func (ms mounts) position(f *os.File, p string) (position, error) {
	m, ok, err := ms.of(f)
	if err != nil {
		return position{}, err
	}
	name, inside := below(m.point, p)
	if !ok || !inside {
		return position{}, fmt.Errorf("%s is on no mount that is seen here", p)
	}
	path := m.root
	if name != "" {
		path = strings.TrimSuffix(m.root, "/") + "/" + name
	}
	return position{m.dev, path}, nil
}

// contains reports whether q is or lies below p.
func (p position) contains(q position) bool {
	_, ok := below(p.path, q.path)
	return ok && p.dev == q.dev
}

const permissionBits = unix.S_IRWXU | unix.S_IRWXG | unix.S_IRWXO
