package initrun

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// The certificates that NSS believes are in a database of the user's own, which it
// opens for writing. The node's part of the jail has it where everybody may read it.
const (
	nssComposed = "/run/omnijail/nssdb/"
	nssOwn      = "/.pki/nssdb/"
	maxDatabase = 64 << 10
)

// database copies it into the home, as the caller and behind the wall. What the jail's
// commands have put there stays, unless it is an earlier copy of ours: a session that
// was rearmed has another CA. A home without room starts the command all the same.
func database(l *child.Launch) *child.StartError {
	if l.Home == "" {
		return nil
	}
	for _, name := range []string{"key4.db", "cert9.db"} {
		data := read(nssComposed + name)
		if data == nil {
			return nil // no program of this jail has NSS, or it has no network
		}
		unix.Mkdir(l.Home+"/.pki", 0o700)
		unix.Mkdir(l.Home+nssOwn, 0o700)
		there := read(l.Home + nssOwn + name)
		if there == nil || len(there) == len(data) && !bytes.Equal(there, data) {
			replace(l.Home+nssOwn+name, data)
		}
	}
	return nil
}

// read returns a small file's bytes, nil where there is none. One that is larger than
// any database of ours is not read whole, and equal to none.
func read(name string) []byte {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil
	}
	b := make([]byte, min(st.Size, maxDatabase))
	n := 0
	for n < len(b) {
		m, err := unix.Read(fd, b[n:])
		if err != nil || m == 0 {
			break
		}
		n += m
	}
	return b[:n]
}

// replace puts data in a file's place whole: another command may have it open.
func replace(name string, data []byte) {
	fd, err := unix.Open(name+".new", unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return
	}
	n, err := unix.Write(fd, data)
	unix.Close(fd)
	if err == nil && n == len(data) {
		unix.Rename(name+".new", name)
	}
}
