package scout

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/reach"
)

// maxLinks is the kernel's own bound.
const maxLinks = 40

// place is where a path led through: a link, or last of all the file itself. Its
// path is a canonical directory and a name, so that it can be judged by its text.
type place struct {
	path string
	link bool
	// typed marks a link to a directory in the path as it was given. Who names the
	// file by its canonical path does not go through it.
	typed bool
	// whole marks what stood for the file and not for a directory on the way.
	whole bool
}

// trail walks the absolute path p as the kernel would, one component after the
// other, and returns every link on the way, to directories too, and the file at
// the end.
func trail(p string) ([]place, error) {
	if err := reach.Unmounted(p); err != nil {
		return nil, err
	}
	var places []place
	todo := strings.Split(p, "/")
	given := len(todo) // how many of todo are p's own, at its end
	at := "/"
	for links := 0; len(todo) > 0; {
		if len(todo) == given {
			given--
		}
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		here := filepath.Join(at, name)
		var st unix.Stat_t
		if err := unix.Lstat(here, &st); err != nil {
			return nil, &os.PathError{Op: "open", Path: here, Err: err}
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			at = here
			continue
		}
		if links++; links > maxLinks || child.Within("/proc", here) { // its links may be no paths
			return nil, &os.PathError{Op: "open", Path: p, Err: unix.ELOOP}
		}
		target, err := os.Readlink(here)
		if err != nil {
			return nil, err
		}
		places = append(places, place{path: here, link: true, typed: given > 0, whole: len(todo) == 0})
		todo = append(strings.Split(target, "/"), todo...)
		if strings.HasPrefix(target, "/") {
			at = "/"
		}
	}
	last := p[strings.LastIndexByte(p, '/')+1:]
	if last == "" || last == "." || last == ".." {
		return nil, &os.PathError{Op: "open", Path: p, Err: unix.EISDIR}
	}
	return append(places, place{path: at, whole: true}), nil
}
