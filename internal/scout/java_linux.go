package scout

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/reach"
)

// ownJava reports whether the command is of a JDK, or would find one on PATH, that
// lies outside of the node's directories and brings a store of certificates. The
// node's own JDKs are seen to by whoever composes the jail's stores.
func (s *session) ownJava(exec string) bool {
	programs := []string{exec}
	for dir := range strings.SplitSeq(s.req.Path, ":") {
		if !s.ofTheNode(dir) {
			programs = append(programs, absolute(dir, s.cwd)+"/java")
		}
	}
	return slices.ContainsFunc(programs, func(p string) bool {
		if s.ofTheNode(p) || executable(p) != nil {
			return false
		}
		at, err := canonical(p)
		if err != nil || s.ofTheNode(at) {
			return false
		}
		home := filepath.Dir(filepath.Dir(at))
		return isRegular(home+"/lib/security/cacerts") || isRegular(home+"/jre/lib/security/cacerts")
	})
}

func (s *session) ofTheNode(p string) bool {
	return slices.ContainsFunc(s.req.SystemDirs, func(dir string) bool { return child.Within(dir, p) })
}

// isRegular is false for a link: JDKs of distributions have one to the node's store.
// A command may have laid links on the way, so none is followed.
func isRegular(p string) bool {
	f, err := reach.Open(p, false)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	return err == nil && st.Mode().IsRegular()
}
