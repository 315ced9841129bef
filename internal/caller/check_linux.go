package caller

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		if err := checkNames(&g); err != nil {
			return err
		}
		names += len(g.Names()) + len(g.Git)
	}
	texts := append(append(append([]string{r.Exec, r.Cwd}, r.Pins...), r.Hidden...), r.Notes...)
	texts = slices.Concat(texts, r.Masked, r.Exposed, r.Doors, r.Shared, []string{r.Repository})
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
	paths := []string{r.Cwd}
	if req.Argv0 != nil {
		paths = append(paths, r.Exec)
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) || filepath.Clean(p) != p {
			return fmt.Errorf("path %.80q: %w", p, errShape)
		}
	}
	if req.Stdio && len(r.Stdio) != 3 || !req.Stdio && len(r.Stdio) != 0 {
		return fmt.Errorf("stdio: %w", errShape)
	}
	return nil
}

// checkNames wants names that lie below a directory, each once.
func checkNames(g *jail.OpenGrant) error {
	seen := map[string]bool{}
	for i, n := range g.Names() {
		readOnly := i >= len(g.Held) && i < len(g.Held)+len(g.ReadOnly)
		if !g.Dir || !isName(n.Name) || n.Name == "." || seen[n.Name] || n.Link && (n.Dir || !readOnly) {
			return fmt.Errorf("name %.80q below %s: %w", n.Name, g.Path, errShape)
		}
		seen[n.Name] = true
	}
	for _, n := range g.Git {
		if !isName(n) {
			return fmt.Errorf("git directory %.80q below %s: %w", n, g.Path, errShape)
		}
	}
	return nil
}

func isName(n string) bool {
	return filepath.IsLocal(n) && filepath.Clean(n) == n && len(n) <= maxText && !strings.ContainsRune(n, 0)
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
		kind := fileKind
		if o.Reply.Grants[i].Dir {
			kind = dirKind
		}
		if err := checkPathFD(f, kind); err != nil {
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

// kind is what an O_PATH descriptor has to be of.
type kind uint8

const (
	fileKind kind = iota // neither of the others
	dirKind
	linkKind
)

// checkPathFD wants an O_PATH descriptor of the kind.
func checkPathFD(f *os.File, want kind) error {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	st, err := cachedStat(f)
	if err != nil {
		return err
	}
	got := fileKind
	switch uint32(st.Mode) & unix.S_IFMT {
	case 0: // no directory; the rest is its owner's word, as all types are on FUSE
		if want == linkKind {
			got = linkKind
		}
	case unix.S_IFDIR:
		got = dirKind
	case unix.S_IFLNK:
		got = linkKind
	}
	if flags&unix.O_PATH == 0 || got != want {
		return errShape
	}
	return nil
}

// cachedStat takes what the kernel has in memory: a file system that hangs would
// hang root with it.
func cachedStat(f *os.File) (st unix.Statx_t, err error) {
	err = statx(f, unix.STATX_TYPE|unix.STATX_MNT_ID, &st)
	if errors.Is(err, unix.EACCES) {
		return ownersAlone(f)
	}
	return st, err
}

func statx(f *os.File, mask int, st *unix.Statx_t) error {
	return unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, mask, st)
}

// ownersAlone is cachedStat of a file on a FUSE file system that only its owner
// may ask: root is told no more than the mount. Whether it is a directory shows
// when it is opened once more as one, which asks no file system. What else it is
// stays unsaid, with no type in its mode.
func ownersAlone(f *os.File) (st unix.Statx_t, err error) {
	if err := statx(f, 0, &st); err != nil {
		return st, err
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		unix.Close(fd)
		st.Mode = unix.S_IFDIR
	case errors.Is(err, unix.ENOTDIR):
		st.Mode = 0
	default:
		return st, err
	}
	return st, nil
}
