package observe

import (
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/reach"
)

// judge looks at what was queued and reports what the jail refuses and its user
// could do outside.
func (o *observer) judge() {
	defer close(o.reports)
	for l := range o.queue {
		if r, ok := o.refused(l); ok {
			o.reports <- r
		}
	}
}

func (o *observer) refused(l look) (child.Observation, bool) {
	if l.need == 0 {
		c := o.calls[l.call]
		return child.Observation{Kind: child.ObservedCall, What: c.Name, Weaken: c.Weaken}, c.Name != ""
	}
	p := o.real(l.path)
	switch {
	case own(p):
		return child.Observation{}, false
	case l.need == reads:
		return o.unseen(p)
	case l.need == writes:
		return o.unwritable(p)
	}
	return o.unwritableEntry(p)
}

// real is a path without the links that lead to its last part in the jail, which
// may have links of its own.
func (o *observer) real(p string) string {
	dir, err := open(int(o.root.Fd()), path.Dir(p), unix.RESOLVE_IN_ROOT)
	if err != nil {
		return p
	}
	defer unix.Close(dir)
	return path.Join(place(dir, path.Dir(p)), path.Base(p))
}

// place is where in the jail a descriptor is.
func place(fd int, otherwise string) string {
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil || !path.IsAbs(at) {
		return otherwise
	}
	return at
}

// own reports whether a path lies where a jail has something of its own that no
// policy can grant.
func own(p string) bool {
	for _, dir := range []string{"/proc", "/sys", "/dev", "/run", "/etc"} {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

// unseen looks for a file that is outside and not in the jail, or covered there.
func (o *observer) unseen(p string) (child.Observation, bool) {
	there, err := outside(p)
	if err != nil {
		return child.Observation{}, false
	}
	defer unix.Close(there)
	if !plain(there) || !may(there, unix.R_OK) {
		return child.Observation{}, false
	}
	inside, err := open(int(o.root.Fd()), p, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return child.Observation{Kind: child.ObservedRead, What: p, Grant: p}, true
	}
	defer unix.Close(inside)
	if !o.granted(p) || same(inside, there) {
		return child.Observation{}, false
	}
	return child.Observation{Kind: child.ObservedRead, What: p, Grant: p, Hidden: true}, true
}

// unwritable looks for a file that can be written outside only.
func (o *observer) unwritable(p string) (child.Observation, bool) {
	inside, err := open(int(o.root.Fd()), p, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return o.unwritableEntry(p)
	}
	defer unix.Close(inside)
	p = place(inside, p)
	return child.Observation{Kind: child.ObservedWrite, What: p, Grant: p}, !may(inside, unix.W_OK) && writable(p)
}

// unwritableEntry looks for an entry that can be made or removed outside only.
func (o *observer) unwritableEntry(p string) (child.Observation, bool) {
	dir := path.Dir(p)
	r := child.Observation{Kind: child.ObservedWrite, What: p, Grant: dir}
	inside, err := open(int(o.root.Fd()), dir, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return r, writable(dir)
	}
	defer unix.Close(inside)
	return r, !may(inside, unix.W_OK) && writable(dir)
}

// writable reports whether the user could write p outside.
func writable(p string) bool {
	fd, err := outside(p)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return plain(fd) && may(fd, unix.W_OK)
}

// granted reports whether p lies in a tree that the policy gives.
func (o *observer) granted(p string) bool {
	for _, g := range o.grants {
		if p == g || strings.HasPrefix(p, strings.TrimSuffix(g, "/")+"/") {
			return true
		}
	}
	return false
}

// outside opens a place of the node's that the jail has named.
func outside(p string) (int, error) {
	f, err := reach.Open(p, true)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// open opens a place below the directory at without using what is there.
func open(at int, p string, resolve uint64) (int, error) {
	if p = strings.TrimPrefix(p, "/"); p == "" {
		p = "."
	}
	return unix.Openat2(at, p, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_NO_MAGICLINKS})
}

// may asks the kernel whether the file could be used, mounts included.
func may(fd int, mode uint32) bool {
	return unix.Faccessat2(fd, "", mode, unix.AT_EMPTY_PATH|unix.AT_EACCESS) == nil
}

// plain reports whether a file is one that a policy can grant.
func plain(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFREG || kind == unix.S_IFDIR
}

func same(a, b int) bool {
	var sa, sb unix.Stat_t
	return unix.Fstat(a, &sa) == nil && unix.Fstat(b, &sb) == nil && sa.Dev == sb.Dev && sa.Ino == sb.Ino
}
