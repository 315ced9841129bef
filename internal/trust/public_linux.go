package trust

import (
	"io/fs"
	"syscall"
)

// public reports whether what st describes belongs to root, can be changed by
// root alone and be read by everyone.
func public(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	read := fs.FileMode(0o004)
	if st.IsDir() {
		read = 0o005
	}
	link := st.Mode()&fs.ModeSymlink != 0
	return ok && sys.Uid == 0 && (link || st.Mode().Perm()&0o022 == 0 && st.Mode().Perm()&read == read)
}
