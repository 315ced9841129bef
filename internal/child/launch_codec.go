package child

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path"
	"slices"
)

// MaxLaunch bounds an encoded Launch in bytes. The kernel refuses argument lists
// and environments well below it.
const MaxLaunch = 4 << 20

const (
	launchMagic  = "OJL6"  // omnijail launch, version 6
	launchGroups = 1 << 16 // the kernel's own NGROUPS_MAX
	launchLimits = 64
	launchPlaces = 1 << 12

	launchProcessors = 1 << 10
)

var errLaunch = errors.New("not a launch record")

// EncodeLaunch returns the bytes of l: fixed-order fields, integers big-endian,
// each string preceded by its length. It refuses what DecodeLaunch would refuse.
func EncodeLaunch(l *Launch) ([]byte, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	b := []byte(launchMagic)
	b = putBytes(b, []byte(l.Exec))
	b = putBytes(b, []byte(l.Cwd))
	b = putBytes(b, []byte(l.Home))
	b = putList(b, l.Argv)
	b = putList(b, l.Env)
	b = put32(b, l.UID)
	b = put32(b, l.GID)
	b = put32(b, uint32(len(l.Groups)))
	for _, g := range l.Groups {
		b = put32(b, g)
	}
	b = putFlag(b, l.TTY)
	b = append(b, byte(l.Wall))
	b = putFlag(b, l.NoUnix)
	b = putPlaces(b, l.Places)
	b = put32(b, uint32(int32(l.Observer)))
	for _, fd := range l.Stdio {
		b = put32(b, uint32(int32(fd)))
	}
	b = put32(b, uint32(len(l.Limits)))
	for _, r := range l.Limits {
		b = put32(b, r.Resource)
		b = binary.BigEndian.AppendUint64(b, r.Soft)
		b = binary.BigEndian.AppendUint64(b, r.Hard)
	}
	b = put32(b, uint32(len(l.Processors)))
	for _, p := range l.Processors {
		b = put32(b, p)
	}
	if len(b) > MaxLaunch {
		return nil, errors.New("arguments and environment are longer than 4 MiB: pass large values in a file")
	}
	return b, nil
}

// DecodeLaunch is the inverse of EncodeLaunch. It never returns more than b
// holds, and refuses trailing bytes and every record that Check refuses.
func DecodeLaunch(b []byte) (*Launch, error) {
	if len(b) > MaxLaunch || !bytes.HasPrefix(b, []byte(launchMagic)) {
		return nil, errLaunch
	}
	r := launchReader{b: b[len(launchMagic):]}
	l := &Launch{
		Exec: string(r.bytes()),
		Cwd:  string(r.bytes()),
		Home: string(r.bytes()),
		Argv: r.list(),
		Env:  r.list(),
		UID:  r.u32(),
		GID:  r.u32(),
	}
	l.Groups = make([]uint32, r.count(launchGroups, 4))
	for i := range l.Groups {
		l.Groups[i] = r.u32()
	}
	l.TTY = r.flag()
	l.Wall = WallMode(r.u8())
	l.NoUnix = r.flag()
	l.Places = r.places()
	l.Observer = int(int32(r.u32()))
	for i := range l.Stdio {
		l.Stdio[i] = int(int32(r.u32()))
	}
	l.Limits = make([]Rlimit, r.count(launchLimits, 20))
	for i := range l.Limits {
		l.Limits[i] = Rlimit{r.u32(), r.u64(), r.u64()}
	}
	l.Processors = make([]uint32, r.count(launchProcessors, 4))
	for i := range l.Processors {
		l.Processors[i] = r.u32()
	}
	if r.bad || len(r.b) != 0 {
		return nil, errLaunch
	}
	return l, l.Check()
}

// Check refuses a Launch that no jail may start with: a root identity, a
// relative path, a string with a NUL in it, a variable without a name, or a
// number of no file that could come with it.
func (l *Launch) Check() error {
	switch {
	case l.UID == 0 || l.GID == 0:
		return errors.New("a jailed command never runs as uid 0 or gid 0")
	case !path.IsAbs(l.Exec) || !path.IsAbs(l.Cwd) || l.Home != "" && !path.IsAbs(l.Home):
		return errors.New("executable, working directory and home must be absolute paths")
	case len(l.Argv) == 0:
		return errors.New("the argument list is empty")
	case len(l.Groups) > launchGroups || len(l.Limits) > launchLimits:
		return errors.New("too many groups or limits")
	case hasNUL([]byte(l.Exec)) || hasNUL([]byte(l.Cwd)) || hasNUL([]byte(l.Home)) || anyNUL(l.Argv) || anyNUL(l.Env):
		return errors.New("a path, argument or variable holds a NUL byte")
	}
	if l.Wall > WallNone || len(l.Places) > launchPlaces || slices.ContainsFunc(l.Places, func(p Place) bool { return !p.ok() }) {
		return errors.New("the wall has an unknown mode, or a place that is no absolute path with known rights")
	}
	for _, g := range l.Groups {
		if g == 0 {
			return errors.New("a jailed command is never in group 0")
		}
	}
	if len(l.Processors) > launchProcessors || slices.ContainsFunc(l.Processors, func(p uint32) bool { return p >= launchProcessors }) {
		return errors.New("more processors than the kernel numbers")
	}
	for _, e := range l.Env {
		if bytes.IndexByte(e, '=') < 1 {
			return errors.New("a variable has no name")
		}
	}
	if l.Observer != 0 && !comes(l.Observer) {
		return errors.New("the observer's socket is none of the files that come with the record")
	}
	for _, n := range l.Stdio {
		if n != -1 && !comes(n) {
			return errors.New("a standard descriptor is none of the files that come with the record")
		}
	}
	return nil
}

func comes(n int) bool { return n >= FirstFile && n <= MaxFiles }

func hasNUL(b []byte) bool { return bytes.IndexByte(b, 0) >= 0 }

func anyNUL(list [][]byte) bool {
	for _, b := range list {
		if hasNUL(b) {
			return true
		}
	}
	return false
}

func put32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }

func putFlag(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func putBytes(b, s []byte) []byte { return append(put32(b, uint32(len(s))), s...) }

func putList(b []byte, list [][]byte) []byte {
	b = put32(b, uint32(len(list)))
	for _, s := range list {
		b = putBytes(b, s)
	}
	return b
}
