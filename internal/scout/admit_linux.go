package scout

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/omnijail/omnijail/internal/child"
)

// admit makes the places of a program visible where they lie in a toolchain's
// home, and returns the path that names the program inside. written says that its
// name comes from a file that the jail may have written.
//
// Whoever can write a link could have anything shown by it. So nothing is exposed
// once the way leads through a tree that is writable in this jail.
func (s *session) admit(places []place, written bool) (string, error) {
	var chain []place // what the kernel goes through inside
	looked := false
	for _, p := range places {
		if p.typed {
			continue
		}
		chain = append(chain, p)
		if s.visible(p.path) == nil || looked {
			continue
		}
		if err := s.untouched(places, p, written); err != nil {
			return "", err
		}
		looked = true
	}
	program := filepath.Base(firstWhole(chain).path)
	start := ""
	for i := len(chain) - 1; i >= 0; i-- {
		p := chain[i]
		if err := s.expose(p.path, program); err != nil {
			if start == "" || !s.dispensable(p) {
				return "", err
			}
			break // the program is called by a later name
		}
		if p.whole {
			start = p.path
		}
	}
	return start, nil
}

// firstWhole is the first place that stood for the program itself.
func firstWhole(chain []place) place {
	for _, p := range chain {
		if p.whole {
			return p
		}
	}
	return chain[len(chain)-1]
}

// untouched refuses a way to unseen, which the jail does not show, that leads
// through a tree which is writable in this jail.
func (s *session) untouched(places []place, unseen place, written bool) error {
	trees, err := s.writableTrees()
	if err != nil {
		return err
	}
	through := ""
	if written {
		through = "a file that the command may write"
	}
	for _, p := range places {
		t, inside, err := s.mounts.inside(trees, p.path)
		if err != nil {
			return err
		}
		if inside {
			through = t.path
			break
		}
	}
	if through == "" {
		return nil
	}
	refused := s.visible(unseen.path)
	if root, _, found := s.toolchainOf(unseen.path); found {
		refused.Fix = policyLine("read_paths", root)
	}
	refused.Reason += fmt.Sprintf(", and the way to it leads through %s, where an earlier command could have laid it", through)
	return refused
}

// writableTrees are the trees that this jail may write, by all their names.
func (s *session) writableTrees() (trees []tree, err error) {
	for _, g := range s.grants {
		if !g.write {
			continue
		}
		t, err := s.mounts.tree(g.file)
		if err != nil {
			return nil, err
		}
		trees = append(trees, t)
	}
	return trees, nil
}

// dispensable reports whether a program can be called by a later name than p: not
// where p is hidden, nor where it is part of a virtual environment, which is found
// by its name.
func (s *session) dispensable(p place) bool {
	gs, _ := s.covering(p.path)
	return p.link && len(gs) == 0 && venvOf(p.path) == ""
}

// venvOf returns the Python virtual environment whose program p is, empty if it is
// none.
func venvOf(p string) string {
	venv := filepath.Dir(filepath.Dir(p))
	if _, err := os.Lstat(filepath.Join(venv, "pyvenv.cfg")); err != nil {
		return ""
	}
	return venv
}

// visible is nil when the canonical place p is part of what the jail sees.
func (s *session) visible(p string) *child.OpenError {
	for _, dir := range append([]string{"/etc/alternatives"}, s.req.SystemDirs...) {
		if child.Within(dir, p) {
			return nil
		}
	}
	gs, names := s.covering(p)
	if len(gs) == 0 {
		show := p
		if venv := venvOf(p); venv != "" {
			show = venv
		}
		return &child.OpenError{
			Code: "not_visible", Exit: exitNotExecutable,
			Reason: fmt.Sprintf("%s is outside of what the jail sees", p),
			Fix:    policyLine("read_paths", show),
		}
	}
	inner := len(gs) - 1
	if hidden, ok := gs[inner].masked.within(names[inner]); ok {
		return &child.OpenError{
			Code: "not_visible", Exit: exitNotExecutable,
			Reason: fmt.Sprintf("%s is hidden in the jail", p),
			Fix:    policyLine("cwd_allow_hidden", hidden),
		}
	}
	return nil
}
