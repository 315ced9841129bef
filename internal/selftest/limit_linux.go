package selftest

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// Limits that attempts ask for, and go over.
const (
	limitedPids   = 48
	limitedMemory = 64 << 20
	shortTime     = "300ms"
)

// limitAttempts go on for longer, or use more, than they were given.
func limitAttempts() (out []Attempt) {
	add := func(name, tries, must string, drive func(*node) Finding) {
		out = append(out, Attempt{Name: "limit." + name, Tries: tries, Must: must, Guarantee: jail.LimitsHeld, drive: drive})
	}
	for _, l := range []struct{ name, tries, mode string }{
		{"timeout", "run on when time is up", "stay"},
		{"timeout_ignoring", "run on, ignoring what would end it", "deaf"},
		{"timeout_busy", "run on without ever waiting", "busy"},
		{"timeout_stopped", "be stopped when time is up", "stopped"},
	} {
		add(l.name, l.tries, "exit 124, and nothing is left", func(n *node) Finding {
			ctx, cancel := n.within(patience)
			defer cancel()
			end, silent, err := untilSilent(n.start(ctx, []string{"--timeout", shortTime}, n.self, "probe", "--linger", l.mode))
			switch {
			case err != nil:
				return notRun("%v", err)
			case ctx.Err() != nil || !silent:
				return succeeded("it ran on for %v after a timeout of %s", patience, shortTime)
			case end != 124:
				return notRun("exit %d", end)
			}
			return refused("exit 124")
		})
	}
	add("processes", "start more processes than the limit", "EAGAIN", func(n *node) Finding {
		text, end := n.limited("--pids", itoa(limitedPids), "forks")
		started := 0
		if _, err := fmt.Sscanf(text, "started %d", &started); err != nil {
			return notRun("exit %d: %s", end, firstLine([]byte(text)))
		}
		if started > limitedPids {
			return succeeded("%d processes were started", started)
		}
		return refused("%d processes were started", started)
	})
	add("memory", "use more memory than the limit", "it is killed", func(n *node) Finding {
		text, end := n.limited("--memory", itoa(limitedMemory), "memory")
		switch {
		case strings.Contains(text, "had it all"):
			return succeeded("%d MiB were used", 4*limitedMemory>>20)
		case end == 137 || strings.Contains(text, "memory limit"):
			return refused("exit %d", end)
		}
		return notRun("exit %d: %s", end, firstLine([]byte(text)))
	})
	for _, m := range []struct{ name, path string }{{"tmp", "/tmp"}, {"shm", "/dev/shm"}, {"home", "$HOME"}} {
		out = append(out, Attempt{
			Name: "limit.size_" + m.name, Tries: "fill the node's memory or disk through the jail's own " + m.name, Must: "a size of its own, below the node's", Guarantee: jail.LimitsHeld,
			NoControl: "the node's own may be small too",
			probe: func(*Site) Finding {
				path := os.ExpandEnv(m.path)
				var st unix.Statfs_t
				if err := unix.Statfs(path, &st); err != nil {
					return refused("%v", err)
				}
				if size := st.Blocks * uint64(st.Bsize); st.Type != unix.TMPFS_MAGIC || size == 0 || size > 64<<30 {
					return succeeded("%s has %d bytes", path, size)
				}
				return refused("%d MiB", st.Blocks*uint64(st.Bsize)>>20)
			},
		})
	}
	return out
}

// limited runs a mode of Linger under a limit, and returns all that was said.
func (n *node) limited(flag, value, mode string) (text string, end int) {
	ctx, cancel := n.within(ample)
	defer cancel()
	cmd := n.start(ctx, []string{flag, value}, n.self, "probe", "--linger", mode)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}
