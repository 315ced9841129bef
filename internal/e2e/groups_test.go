package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/cgroup"
)

// instance is the name of the cgroups of the daemon with this run directory.
func instance(runDir string) string {
	sum := sha256.Sum256([]byte(runDir))
	return "omnijail-" + hex.EncodeToString(sum[:6])
}

// groups is where a node's daemon makes a cgroup for each command.
func (n *Node) groups(t testing.TB) string {
	t.Helper()
	h, err := cgroup.Find()
	if err != nil {
		t.Fatal(err)
	}
	if !h.V2() {
		t.Skip("kill points are found by events of cgroup v2, which this node has not")
	}
	return filepath.Join(h.Mount(), instance(n.Dir+"/run"))
}

// group is one cgroup under test.
type group string

// members are the processes in it.
func (g group) members() (pids []int) {
	b, err := os.ReadFile(filepath.Join(string(g), "cgroup.procs"))
	if err != nil {
		return nil
	}
	for _, f := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(f); err == nil && pid != 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (g group) freeze(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(string(g), "cgroup.freeze"), []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
}

// thaw undoes freeze; a cgroup that has gone needs it no more.
func (g group) thaw(t testing.TB) {
	t.Helper()
	err := os.WriteFile(filepath.Join(string(g), "cgroup.freeze"), []byte("0"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
		t.Fatal(err)
	}
}

// await waits until cgroup.events says line. A cgroup that has gone is not
// populated.
func (g group) await(t testing.TB, line string) {
	t.Helper()
	fd, err := unix.Open(filepath.Join(string(g), "cgroup.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) && line == "populated 0" {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var b [256]byte
	for {
		n, err := unix.Pread(fd, b[:], 0)
		if errors.Is(err, unix.ENODEV) && line == "populated 0" {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b[:n]), line) {
			return
		}
		waitFD(t, fd, unix.POLLPRI, "cgroup "+string(g)+" does not say "+line)
	}
}

// watch tells of cgroups that the daemon makes.
type watch struct {
	dir string
	fd  int
	buf []byte
}

// watchGroups starts to watch. It comes before what makes the cgroup.
func (n *Node) watchGroups(t testing.TB) *watch {
	t.Helper()
	w := &watch{dir: n.groups(t)}
	var err error
	if w.fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(w.fd) })
	if _, err := unix.InotifyAddWatch(w.fd, w.dir, unix.IN_CREATE|unix.IN_DELETE|unix.IN_ONLYDIR); err != nil {
		t.Fatal(err)
	}
	return w
}

// made returns the next cgroup that is made with this prefix.
func (w *watch) made(t testing.TB, prefix string) group {
	t.Helper()
	return w.next(t, unix.IN_CREATE, prefix)
}

// removed returns the next cgroup with this prefix that is removed.
func (w *watch) removed(t testing.TB, prefix string) group {
	t.Helper()
	return w.next(t, unix.IN_DELETE, prefix)
}

func (w *watch) next(t testing.TB, mask uint32, prefix string) group {
	t.Helper()
	for deadline := time.Now().Add(hang); time.Now().Before(deadline); {
		for len(w.buf) >= unix.SizeofInotifyEvent {
			ev := (*unix.InotifyEvent)(unsafe.Pointer(&w.buf[0]))
			name := w.buf[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+int(ev.Len)]
			w.buf = w.buf[unix.SizeofInotifyEvent+int(ev.Len):]
			text := string(bytes.TrimRight(name, "\x00"))
			if ev.Mask&mask != 0 && strings.HasPrefix(text, prefix) {
				return group(filepath.Join(w.dir, text))
			}
		}
		waitFD(t, w.fd, unix.POLLIN, "no cgroup "+prefix+" was made or removed")
		buf := make([]byte, 4096)
		n, err := unix.Read(w.fd, buf)
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			t.Fatal(err)
		}
		w.buf = buf[:max(n, 0)]
	}
	t.Fatalf("no cgroup %s", prefix)
	return ""
}
