package scout

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/reach"
)

// The shell's exit codes for a command that cannot run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// lookup finds the executable as a shell of the caller's would, makes it and what
// interprets it visible, and returns the path that names it inside.
func (s *session) lookup(argv0 string) (string, error) {
	found, err := find(argv0, s.req.Path, s.cwd)
	if err != nil {
		return "", err
	}
	places, err := trail(found)
	if err != nil {
		return "", notExecutable(found, err)
	}
	last := places[len(places)-1].path
	if isSnap(found, last) {
		return "", &child.OpenError{
			Code: "snap", Exit: exitNotExecutable,
			Reason: fmt.Sprintf("%s is a snap; snaps cannot run without privileges and so not in a jail", found),
			Fix:    "sudo apt install " + filepath.Base(found),
		}
	}
	exec, err := s.admit(places, false)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(exec) {
		return "", notExecutable(found, errors.New("its path is not UTF-8"))
	}
	if err := s.admitPythonHome(exec); err != nil {
		return "", err
	}
	return exec, s.admitInterpreter(last)
}

// find does execvp's search: what cannot be executed is remembered and passed
// over, so that a later directory of PATH may have the command.
func find(argv0, path, cwd string) (string, error) {
	if argv0 == "" {
		return "", &child.OpenError{Code: "not_found", Exit: exitNotFound, Reason: "the command is empty"}
	}
	if strings.Contains(argv0, "/") {
		p := absolute(argv0, cwd)
		err := executable(p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return "", &child.OpenError{Code: "not_found", Exit: exitNotFound, Reason: fmt.Sprintf("%s does not exist", argv0)}
		}
		if err != nil {
			return "", notExecutable(argv0, err)
		}
		return p, nil
	}
	var refused error
	for dir := range strings.SplitSeq(path, ":") {
		p := absolute(dir, cwd) + "/" + argv0
		err := executable(p)
		if err == nil {
			return p, nil
		}
		if errors.Is(err, unix.EACCES) {
			refused = notExecutable(p, err)
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", &child.OpenError{Code: "not_found", Exit: exitNotFound, Reason: fmt.Sprintf("%s: command not found in your PATH", argv0)}
}

// absolute joins without cleaning: ".." after a link means what the kernel says.
func absolute(p, cwd string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return cwd + "/" + p
}

// executable is nil for a regular file that this process may execute.
func executable(p string) error {
	if err := reach.Unmounted(p); err != nil { // a command may have written p, or a link on the way
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(p, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return unix.EISDIR
	default:
		return unix.EACCES
	}
	return unix.Faccessat(unix.AT_FDCWD, p, unix.X_OK, 0)
}

func notExecutable(p string, err error) error {
	return &child.OpenError{Code: "not_executable", Exit: exitNotExecutable, Reason: fmt.Sprintf("%s cannot be executed: %v", p, err)}
}

func isSnap(found, last string) bool {
	return child.Within("/snap", found) || child.Within("/snap", last) ||
		child.Within("/var/lib/snapd", last) || last == "/usr/bin/snap"
}
