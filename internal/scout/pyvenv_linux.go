package scout

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// pyvenvBytes bounds a file of a few lines.
const pyvenvBytes = 64 << 10

// admitPythonHome makes visible what the Python at p, by the name that it is called
// by, needs besides itself: in a virtual environment that has a copy of the
// interpreter, the library is where home in pyvenv.cfg says. An environment in a tree
// that the jail may write can say what it likes: nothing is exposed for it.
func (s *session) admitPythonHome(p string) error {
	name, venv := filepath.Base(p), venvOf(p)
	if venv == "" || !strings.HasPrefix(name, "python") && !strings.HasPrefix(name, "pypy") {
		return nil
	}
	cfg := filepath.Join(venv, "pyvenv.cfg")
	f, err := openDirect(cfg) // an earlier command may have made it a link
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := readOpened(f, pyvenvBytes)
	if err != nil {
		return nil
	}
	places, err := trail(pythonHome(string(text)))
	if err != nil {
		return nil // it is for Python to say that it is not there
	}
	trees, err := s.writableTrees()
	if err != nil {
		return err
	}
	_, written, err := s.mounts.inside(trees, cfg)
	if err != nil {
		return err
	}
	_, err = s.admit(places, written)
	if e, ok := errors.AsType[*child.OpenError](err); ok {
		last := places[len(places)-1].path
		if _, _, found := s.toolchainOf(last); !found && e.Code == "not_visible" {
			e.Fix = policyLine("read_paths", filepath.Dir(last)) // the library is beside the programs
		}
	}
	return err
}

// pythonHome is the directory of the interpreter that an environment was made with,
// as Python reads it; empty where it is not an absolute path.
func pythonHome(cfg string) string {
	for line := range strings.Lines(cfg) {
		key, value, ok := strings.Cut(line, "=")
		if ok && strings.EqualFold(strings.TrimSpace(key), "home") {
			if home := strings.TrimSpace(value); filepath.IsAbs(home) && len(home) < unix.PathMax && !strings.ContainsRune(home, 0) {
				return filepath.Clean(home)
			}
			break
		}
	}
	return ""
}
