package caller

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// Bounds of a reply.
const (
	maxText  = 4096 // bytes of one string
	maxNames = 8192 // names below all grants, notes or settings
)

var errShape = errors.New("malformed")

// checkReply looks at the shape of a reply: a scout's word is the user's own.
func checkReply(req *jail.OpenRequest, r jail.OpenReply) error {
	names := 0
	for _, g := range r.Grants {
		if err := jail.CheckDest(g.Path, req.User.Home, req.SystemDirs); err != nil {
			return err
		}
		for _, list := range [][]jail.OpenName{g.Held, g.ReadOnly, g.Masked} {
			names += len(list)
			for _, n := range list {
				if !g.Dir || !filepath.IsLocal(n.Name) || filepath.Clean(n.Name) != n.Name || n.Name == "." || len(n.Name) > maxText {
					return fmt.Errorf("name %.80q below %s: %w", n.Name, g.Path, errShape)
				}
			}
		}
	}
	texts := append(append(append([]string{r.Exec, r.Cwd}, r.Pins...), r.Hidden...), r.Notes...)
	texts = append(texts, r.Exposed...)
	for _, s := range r.Git {
		texts = append(texts, s.Key, s.Value)
	}
	if max(names, len(texts)) > maxNames {
		return fmt.Errorf("too many names: %w", errShape)
	}
	for _, t := range texts {
		if len(t) > maxText || strings.ContainsRune(t, 0) {
			return fmt.Errorf("text %.80q: %w", t, errShape)
		}
	}
	for _, p := range []string{r.Exec, r.Cwd} {
		if !filepath.IsAbs(p) || filepath.Clean(p) != p {
			return fmt.Errorf("path %.80q: %w", p, errShape)
		}
	}
	if req.Stdio && len(r.Stdio) != 3 || !req.Stdio && len(r.Stdio) != 0 {
		return fmt.Errorf("stdio: %w", errShape)
	}
	return nil
}

// bounded makes a refusal of the scout's fit to be passed on.
func bounded(e *jail.OpenError) *jail.OpenError {
	if e.Exit < 125 || e.Exit > 127 {
		e.Exit = 125
	}
	cut := func(s string) string { return s[:min(len(s), maxText)] }
	return &jail.OpenError{Code: cut(e.Code), Exit: e.Exit, Reason: cut(e.Reason), Fix: cut(e.Fix)}
}

// checkFiles looks at what the descriptors are, without asking a file system.
func (o *Opened) checkFiles() error {
	for i, f := range o.Grants {
		if err := checkPathFD(f, o.Reply.Grants[i].Dir); err != nil {
			return fmt.Errorf("answer of the scout: grant %s: %w", o.Reply.Grants[i].Path, err)
		}
	}
	for _, f := range o.Pins {
		if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_PATH == 0 {
			return fmt.Errorf("answer of the scout: pin: %w", errShape)
		}
	}
	for i, f := range o.Stdio {
		st, err := cachedStat(f)
		if err != nil {
			return err
		}
		if want, ok := stdioType[o.Reply.Stdio[i]]; !ok || uint32(st.Mode)&unix.S_IFMT != want {
			return fmt.Errorf("answer of the scout: descriptor %d is no %.20q: %w", i, o.Reply.Stdio[i], errShape)
		}
		if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_PATH != 0 {
			return fmt.Errorf("answer of the scout: descriptor %d: %w", i, errShape)
		}
	}
	return nil
}

var stdioType = map[jail.StdioKind]uint32{
	jail.StdioPipe: unix.S_IFIFO, jail.StdioSocket: unix.S_IFSOCK, jail.StdioDevice: unix.S_IFCHR,
	jail.StdioFile: unix.S_IFREG, jail.StdioTTY: unix.S_IFCHR,
}

// checkPathFD wants an O_PATH descriptor of a directory, or of anything else.
func checkPathFD(f *os.File, dir bool) error {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	st, err := cachedStat(f)
	if err != nil {
		return err
	}
	if kind := uint32(st.Mode) & unix.S_IFMT; flags&unix.O_PATH == 0 || (kind == unix.S_IFDIR) != dir || kind == unix.S_IFLNK {
		return errShape
	}
	return nil
}

// cachedStat takes what the kernel has in memory: a file system that hangs would
// hang root with it.
func cachedStat(f *os.File) (st unix.Statx_t, err error) {
	err = unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_MNT_ID, &st)
	return st, err
}
