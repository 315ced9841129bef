package scout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// valueBytes bounds a value; errorBytes what a command's error output may say.
const (
	valueBytes = 64 << 10
	errorBytes = 4 << 10
)

// noValue says that a source has nothing to give, so that the next is asked. Any
// other error of a source is a refusal, and final.
type noValue struct {
	reason string
	exit   int
}

func (e *noValue) Error() string { return e.reason }

// sources is one source request on its way to an answer.
type sources struct {
	req           child.SourceRequest
	mounts        mounts
	writable      []tree
	value, stderr *os.File
}

// serveSource writes the value of the first source that has one to the pipe that
// came along. setup is what went wrong before.
func serveSource(conn *seqpacket.Conn, req child.SourceRequest, files []*os.File, setup error) error {
	reply := child.SourceReply{}
	if setup == nil && len(files) < 2 {
		setup = errors.New("a source needs two pipes")
	}
	if setup == nil {
		setup = answer(req, files, &reply)
	}
	if setup != nil {
		reply.OK = false
		reply.Reason = setup.Error()
		if e, ok := errors.AsType[*child.OpenError](setup); ok {
			reply.Fix = e.Fix
		}
		if e, ok := errors.AsType[*noValue](setup); ok {
			reply.Exit = e.exit
		}
	}
	// The pipes close first: who reads them is not kept waiting by the daemon.
	seqpacket.CloseAll(files)
	return conn.Send(reply)
}

func answer(req child.SourceRequest, files []*os.File, reply *child.SourceReply) error {
	s := &sources{req: req, value: files[0], stderr: files[1]}
	var err error
	if s.mounts, err = readMounts(); err != nil {
		return err
	}
	for _, f := range files[2:] {
		t, err := s.mounts.tree(f)
		if err != nil {
			return err
		}
		s.writable = append(s.writable, t)
	}
	return s.first(reply)
}

// first asks one source after the other.
func (s *sources) first(reply *child.SourceReply) error {
	var last error
	for i, src := range s.req.Sources {
		reply.Index = i
		value, err := s.read(src)
		if err == nil {
			reply.OK = true
			_, err = s.value.Write(value)
			return err
		}
		if last = err; !isNoValue(err) {
			return err
		}
	}
	return last
}

func isNoValue(err error) bool {
	_, ok := errors.AsType[*noValue](err)
	return ok
}

func (s *sources) read(src child.Source) (value []byte, err error) {
	name := src.File
	switch {
	case src.File != "" && src.Argv == nil:
		value, err = s.readFile(src.File)
	case src.File == "" && len(src.Argv) > 0:
		name = fmt.Sprintf("%q", strings.Join(src.Argv, " "))
		value, err = s.run(src.Argv)
	default:
		return nil, refuse("source", "a source is either a file or a command")
	}
	if err == nil && len(strings.TrimRight(string(value), "\n")) == 0 {
		err = &noValue{reason: name + " gave nothing"}
	}
	return value, err
}

// readFile reads a value that its owner alone can read, from outside of every
// tree that the jail may write.
func (s *sources) readFile(p string) ([]byte, error) {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		p = filepath.Join(s.req.Home, rest)
	}
	if !filepath.IsAbs(p) {
		return nil, refuse("source", "%s is not an absolute path", p)
	}
	f, err := openPath(p)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, &noValue{reason: p + " does not exist"}
	}
	if err != nil {
		return nil, refuse("source", "cannot open %s as you: %v", p, errors.Unwrap(err))
	}
	defer f.Close()
	st, _, err := stat(f)
	if err != nil {
		return nil, err
	}
	if bits := st.Mode & (unix.S_IRGRP | unix.S_IROTH); bits != 0 && st.Mode&unix.S_IFMT == unix.S_IFREG {
		e := refuse("source", "%s can be read by others (mode %04o)", p, st.Mode&permissionBits)
		e.Fix = "chmod 600 " + shellQuote(p)
		return nil, e
	}
	if err := s.outside(p); err != nil {
		return nil, err
	}
	value, err := readOpened(f, valueBytes)
	if err != nil {
		return nil, refuse("source", "%v", err)
	}
	return value, nil
}

// policyLine is one list of a policy with one entry, quoted where it holds more
// than a path usually does.
func policyLine(key, entry string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/.-_+@~", r) || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	if entry == "" || strings.IndexFunc(entry, func(r rune) bool { return !plain(r) }) >= 0 {
		entry = strconv.Quote(entry)
	}
	return key + ": [" + entry + "]"
}

// shellQuote makes p one word of a POSIX shell.
func shellQuote(p string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	if strings.IndexFunc(p, func(r rune) bool { return !plain(r) }) < 0 {
		return p
	}
	return "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
}
