package scout

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// vetFile lets a regular file pass when the jail may do everything to it by
// itself. The descriptor carries the mount that the client opened it through, not
// the jail's read-only one: one that was opened for reading can be reopened for
// writing through /proc, or have its mode changed. So each way of opening needs
// a writable grant and a name that is neither hidden nor protected.
func (s *session) vetFile(f *os.File, slot int) error {
	m, ok, err := s.mounts.of(f)
	if err != nil {
		return err
	}
	if !ok || !local[m.fstype] {
		return refuseSlot(slot, "a file that is on no local file system")
	}
	p, err := realPath(f)
	if err != nil {
		return refuseSlot(slot, "a file without a name")
	}
	gs, names := s.covering(p)
	if len(gs) == 0 {
		return refuseSlot(slot, "a file outside of what the policy grants ("+p+")")
	}
	g, n := gs[len(gs)-1], names[len(gs)-1]
	if _, hidden := g.masked.within(n); hidden {
		return refuseSlot(slot, "a file that the policy hides ("+p+")")
	}
	if _, protected := g.readonly.within(n); protected || !g.write {
		return refuseSlot(slot, "a file that the policy lets the command only read ("+p+")")
	}
	return nil
}

// vetSecrets lets only memfds pass; whether they are sealed is for their reader
// to say.
func vetSecrets(files []*os.File, names []string) error {
	for i, f := range files {
		_, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
		p, linkErr := os.Readlink(fdPath(f))
		st, _, statErr := stat(f)
		if err != nil || linkErr != nil || statErr != nil || !strings.HasPrefix(p, "/memfd:") || st.Nlink != 0 {
			return &child.OpenError{Code: "secret_fd", Exit: exitFailed, Reason: "the descriptor for " + names[i] + " is not a memfd"}
		}
	}
	return nil
}
