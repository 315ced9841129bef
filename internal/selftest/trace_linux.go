package selftest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// traceAttempts leave things that are not processes.
func traceAttempts() (out []Attempt) {
	const must = "it is gone with the jail"
	for _, p := range []struct{ name, path string }{
		{"tmp", "/tmp"}, {"var_tmp", "/var/tmp"}, {"shm", "/dev/shm"}, {"home", "$HOME"},
	} {
		path := func(s *Site) string {
			dir := p.path
			if dir == "$HOME" {
				dir = s.Home
			}
			return filepath.Join(dir, "left-by-"+filepath.Base(filepath.Dir(s.Dir)))
		}
		out = append(out, Attempt{
			Name: "trace." + p.name, Tries: "leave a file in " + p.path, Must: must, Guarantee: jail.NoTrace,
			probe: func(s *Site) Finding {
				if err := os.WriteFile(path(s), []byte("left"), 0o600); err != nil {
					return refused("%v", err)
				}
				return refused("it was in the jail's own")
			},
			after: func(n *node, f Finding) Finding { return n.notLeft(f, path(&n.site)) },
		})
	}
	out[len(out)-1].NoControl = "there is no home without a caller"
	return append(out,
		Attempt{
			Name: "trace.shared_memory", Tries: "leave shared memory", Must: must, Guarantee: jail.NoTrace,
			probe: func(s *Site) Finding {
				if s.ShmKey == 0 {
					return notRun("the node has no System V shared memory")
				}
				if _, err := unix.SysvShmGet(s.ShmKey+1, 4096, unix.IPC_CREAT|0o600); err != nil {
					return refused("%v", err)
				}
				return refused("it was in the jail's own")
			},
			after: func(n *node, f Finding) Finding {
				id, err := unix.SysvShmGet(n.site.ShmKey+1, 1, 0o600)
				if f.Result == NotRun || err != nil {
					return f
				}
				unix.SysvShmCtl(id, unix.IPC_RMID, nil)
				return succeeded("it is there outside")
			},
		},
		Attempt{
			Name: "trace.queue", Tries: "leave a message queue", Must: must, Guarantee: jail.NoTrace,
			probe: func(s *Site) Finding {
				if s.Queue == "" {
					return notRun("the node has no message queues")
				}
				fd, err := openQueue(s.Queue+"-left", unix.O_CREAT|unix.O_RDWR)
				if err != nil {
					return refused("%v", err)
				}
				unix.Close(fd)
				return refused("it was in the jail's own")
			},
			after: func(n *node, f Finding) Finding {
				if f.Result == NotRun || removeQueue(n.site.Queue+"-left") != nil {
					return f
				}
				return succeeded("it is there outside")
			},
		},
		Attempt{
			Name: "trace.mounts", Tries: "leave a mount on the node", Must: "the node's mounts are as before", Guarantee: jail.NoTrace, NoControl: "without a jail nothing is mounted",
			drive: func(n *node) Finding {
				ctx, cancel := n.within(ample)
				defer cancel()
				if out, err := n.start(ctx, nil, "true").CombinedOutput(); err != nil {
					return notRun("%v: %s", err, firstLine(out))
				}
				table, err := os.ReadFile("/proc/self/mountinfo")
				if err != nil {
					return notRun("%v", err)
				}
				if strings.Contains(string(table), n.dir) {
					return succeeded("a mount below %s is left", n.dir)
				}
				return refused("none is left")
			},
		})
}

// notLeft turns a finding into an escape when a path is there outside.
func (n *node) notLeft(f Finding, path string) Finding {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f
	}
	os.Remove(path)
	return succeeded("%s is there outside (%v)", path, err)
}
