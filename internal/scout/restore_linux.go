package scout

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// inJail is how a place is found from the root of a jail: through its mounts, for
// that is where they lead, and through no link.
const inJail = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

func checkRestore(r *child.RestoreRequest) error {
	if len(r.Places) == 0 || len(r.Places) > maxPaths || len(r.Dirs) != len(r.Places) {
		return errors.New("the places to restore are malformed")
	}
	for _, p := range r.Places {
		if !filepath.IsLocal(p) || filepath.Clean(p) != p {
			return errors.New("a place to restore is malformed")
		}
	}
	return nil
}

// serveRestore opens what is at each place. The way there leads through trees of the
// caller's, and only the caller may be held up on it.
func serveRestore(conn *seqpacket.Conn, req *child.RestoreRequest, files []*os.File, setup error) error {
	var reply child.RestoreReply
	var found []*os.File
	if setup == nil && len(files) != 1 {
		setup = errors.New("not one descriptor of the jail's root")
	}
	for i, p := range req.Places {
		if setup != nil {
			break
		}
		f, err := openThere(files[0], p, req.Dirs[i])
		switch {
		case err == nil:
			found = append(found, f)
		case !errors.Is(err, unix.ENOENT) && !errors.Is(err, errReplaced):
			setup = err
		}
		reply.Found = append(reply.Found, err == nil)
	}
	if setup != nil {
		return conn.Send(child.RestoreReply{Err: refusal(setup)})
	}
	return conn.Send(reply, found...)
}

// openThere opens a place if what is there is a regular file, or a directory.
func openThere(root *os.File, place string, dir bool) (*os.File, error) {
	f, err := openHow(int(root.Fd()), place, unix.O_PATH|unix.O_NOFOLLOW, inJail)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, errReplaced
	}
	if err != nil {
		return nil, err
	}
	st, _, err := stat(f)
	if err == nil && (isDir(st) != dir || !dir && st.Mode&unix.S_IFMT != unix.S_IFREG) {
		err = errReplaced
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
