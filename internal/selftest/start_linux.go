package selftest

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/omnijail/omnijail/internal/jail"
)

// startAttempts ask for a jail that must not be: with more than it may see, as
// somebody else, or with a descriptor that leads out of it.
func startAttempts() (out []Attempt) {
	const must = "the jail does not start, with a reason"
	add := func(name, tries string, g jail.Guarantee, drive func(*node) Finding) *Attempt {
		out = append(out, Attempt{Name: "start." + name, Tries: tries, Must: must, Guarantee: g, drive: drive})
		return &out[len(out)-1]
	}
	for _, f := range []struct {
		name, tries string
		flags       []string
	}{
		{"write_root", "ask for the root directory", []string{"--write", "/"}},
		{"read_root", "ask to read the root directory", []string{"--read", "/"}},
		{"write_etc", "ask for /etc", []string{"--write", "/etc"}},
		{"write_usr", "ask for /usr", []string{"--write", "/usr"}},
		{"write_dev", "ask for /dev", []string{"--write", "/dev"}},
		{"write_run", "ask for /run", []string{"--write", "/run"}},
		{"write_tmp", "ask for the node's /tmp", []string{"--write", "/tmp"}},
		{"write_proc", "ask for /proc", []string{"--write", "/proc"}},
		{"read_init_root", "ask for the root of process 1", []string{"--read", "/proc/1/root"}},
		{"read_self_root", "ask for one's own root through /proc", []string{"--read", "/proc/self/root"}},
		{"write_sys", "ask for /sys", []string{"--write", "/sys"}},
		{"write_cgroup", "ask for the control groups", []string{"--write", "/sys/fs/cgroup"}},
		{"cwd_proc", "work in /proc", []string{"--policy", "offline", "--cwd", "/proc"}},
		{"cwd_root", "work in the root directory", []string{"--policy", "offline", "--cwd", "/"}},
		{"user_root", "run as root", []string{"--user", "0"}},
		{"user_system", "run as a system user", []string{"--user", "1"}},
		{"user_nobody", "run as the overflow user", []string{"--user", "65534"}},
		{"backend_none", "ask for no confinement", []string{"--backend", "none"}},
		{"preset_unknown", "ask for a preset that is not there", []string{"--preset", "../../etc/passwd"}},
		{"policy_traversal", "name a policy by a path through others", []string{"--policy", "../../etc/omnijail"}},
		{"allow_everything", "allow every host", []string{"--allow", "* *"}},
		{"allow_connect", "allow tunnels", []string{"--allow", "CONNECT example.com"}},
	} {
		add(f.name, f.tries, jail.Files, func(n *node) Finding { return n.mustNotStart(f.flags) })
	}
	add("group_root", "run in group 0", jail.NoPrivilege, func(n *node) Finding {
		return n.mustNotStart([]string{"--user", itoa(max(n.config.UID, os.Getuid())) + ":0"})
	})
	add("write_home", "ask for the whole home", jail.Files, func(n *node) Finding {
		if n.site.Home == "" || n.site.Home == "/" {
			return notRun("the caller has no home")
		}
		return n.mustNotStart([]string{"--write", n.site.Home})
	})
	add("read_control", "ask for the directory of the daemon's socket", jail.Files, func(n *node) Finding {
		if n.site.Control == "" {
			return notRun("where the daemon listens is not known")
		}
		return n.mustNotStart([]string{"--write", filepath.Dir(n.site.Control)})
	})
	add("planted_policy", "run in a directory whose policy nobody has trusted", jail.Files, func(n *node) Finding {
		dir := filepath.Join(n.dir, "planted")
		cmd := n.plain(n.base, dir, "exec", "--", "true")
		return stopped(cmd)
	})
	return out
}

// mustNotStart asks for a jail with flags and judges that it did not start.
func (n *node) mustNotStart(flags []string) Finding {
	ctx, cancel := n.within(ample)
	defer cancel()
	return stopped(n.start(ctx, flags, "true"))
}

func stopped(cmd *exec.Cmd) Finding {
	out, err := cmd.CombinedOutput()
	switch code := cmd.ProcessState.ExitCode(); {
	case err == nil:
		return succeeded("the jail was started")
	case code == 125 || code == 64:
		return refused("%s", firstLine(out))
	default:
		return notRun("exit %d: %s", code, firstLine(out))
	}
}
