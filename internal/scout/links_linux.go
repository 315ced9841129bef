package scout

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is the kernel's own bound.
const maxLinks = 40

// hops returns where each link of the path p lies, one after the other, and last
// where the file lies that they lead to. Every place is a canonical directory and
// a name, so that it can be judged by its text.
func hops(p string) ([]string, error) {
	var places []string
	for range maxLinks + 1 {
		i := strings.LastIndexByte(p, '/')
		base := p[i+1:]
		if i < 0 || base == "" || base == "." || base == ".." {
			return nil, &os.PathError{Op: "open", Path: p, Err: unix.EISDIR}
		}
		dir, err := canonicalDir(p[:i+1])
		if err != nil {
			return nil, err
		}
		place := strings.TrimSuffix(dir, "/") + "/" + base
		places = append(places, place)
		var st unix.Stat_t
		if err := unix.Lstat(place, &st); err != nil {
			return nil, &os.PathError{Op: "open", Path: place, Err: err}
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			return places, nil
		}
		target, err := os.Readlink(place)
		if err != nil {
			return nil, err
		}
		if p = target; !strings.HasPrefix(target, "/") {
			p = dir + "/" + target
		}
	}
	return nil, &os.PathError{Op: "open", Path: p, Err: unix.ELOOP}
}

func canonicalDir(dir string) (string, error) {
	f, err := openHow(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return realPath(f)
}
