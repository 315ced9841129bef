package scout

import (
	"bytes"
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// direntHead is how many bytes of a dirent64 come before its name: inode, offset,
// length and kind.
const direntHead = 8 + 8 + 2 + 1

// readEntries calls each for every entry of the directory fd but itself and its
// parent, with its kind, one of the DT_ constants. The name is valid during the call only: a workspace has many entries,
// and few of them matter.
func readEntries(fd int, buf []byte, each func(name []byte, kind byte) error) error {
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return os.NewSyscallError("getdents64", err)
		}
		for b := buf[:n]; len(b) >= direntHead; {
			size := int(binary.NativeEndian.Uint16(b[16:]))
			if size < direntHead || size > len(b) {
				return os.NewSyscallError("getdents64", unix.EIO)
			}
			name, kind := b[direntHead:size], b[18]
			b = b[size:]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if string(name) == "." || string(name) == ".." {
				continue
			}
			if kind == unix.DT_UNKNOWN {
				if kind, err = kindOf(fd, string(name)); err != nil {
					return err
				}
			}
			if err := each(name, kind); err != nil {
				return err
			}
		}
	}
}

// kindOf asks for what some file systems do not say in a listing. A name that has
// gone meanwhile is of no kind.
func kindOf(dir int, name string) (byte, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil && err != unix.ENOENT {
		return 0, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	return byte(st.Mode & unix.S_IFMT >> 12), nil
}
