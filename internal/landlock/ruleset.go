package landlock

import (
	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/omnijail/omnijail/internal/child"
)

// Wall is what a process keeps. Signals and abstract sockets never reach a
// process outside of it.
type Wall struct {
	// Files says that the file system is walled off: what is not in Places and
	// Open is refused. Without it files stay as they are.
	Files  bool
	Places []child.Place
	Open   []Descriptor
	// NoListen refuses to bind TCP ports.
	NoListen bool
}

// Descriptor is an open file that is no place in the process's own view.
type Descriptor struct {
	FD     int
	Rights child.Rights
}

// Versions of the kernel's interface at which something came.
const (
	abiRefer       = 2 // Linux 5.19: move between directories
	abiTruncate    = 3 // 6.2
	abiNet         = 4 // 6.7
	abiIoctl       = 5 // 6.10
	abiScope       = 6 // 6.12
	abiPathSockets = 9
)

// Ruleset is a Wall as a kernel of one ABI can hold it.
type Ruleset struct {
	config landlock.Config
	rules  []landlock.Rule
	open   []Descriptor
}

// Lower returns the ruleset for w. It asks nobody: the same wall and ABI give the
// same ruleset.
func Lower(w Wall, abi int) Ruleset {
	r := Ruleset{config: landlock.Config{HandledAccessFS: handled(w, abi)}}
	if abi >= abiNet && w.NoListen {
		r.config.HandledAccessNet = ll.AccessNetBindTCP
	}
	if abi >= abiScope {
		r.config.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	if !w.Files {
		return r
	}
	r.open = w.Open
	for _, p := range w.Places {
		set := access(p.Rights, p.File) & r.config.HandledAccessFS
		// What is gone by now is not missed: without a rule it is refused.
		r.rules = append(r.rules, landlock.PathAccess(set, p.Path).IgnoreIfMissing())
	}
	return r
}

// handled returns every right to files that a kernel of this ABI can refuse.
func handled(w Wall, abi int) landlock.AccessFSSet {
	if !w.Files || abi < 1 {
		return 0
	}
	last := landlock.AccessFSSet(ll.AccessFSMakeSym)
	for _, step := range []struct {
		abi   int
		right landlock.AccessFSSet
	}{
		{abiRefer, ll.AccessFSRefer}, {abiTruncate, ll.AccessFSTruncate},
		{abiIoctl, ll.AccessFSIoctlDev}, {abiPathSockets, ll.AccessFSResolveUnix},
	} {
		if abi >= step.abi {
			last = step.right
		}
	}
	return last<<1 - 1
}

// Holds reports whether a kernel of this ABI can wall files off from a command
// that works in them. Before version 2 a wall refuses every move from one
// directory to another.
func Holds(abi int) bool { return abi >= abiRefer }

// ScopesPathSockets reports whether the kernel keeps a walled process from Unix
// sockets that have a name in the file system.
func ScopesPathSockets(abi int) bool { return abi >= abiPathSockets }

// Gaps lists what a kernel of this ABI cannot refuse to a walled process.
func Gaps(abi int) (gaps []string) {
	for _, g := range []struct {
		abi  int
		what string
	}{
		{1, "files"}, {abiRefer, "moves between directories"}, {abiTruncate, "truncation"}, {abiNet, "TCP ports"},
		{abiIoctl, "device controls"}, {abiScope, "signals and abstract sockets"}, {abiPathSockets, "named sockets"},
	} {
		if abi < g.abi {
			gaps = append(gaps, g.what)
		}
	}
	return gaps
}
