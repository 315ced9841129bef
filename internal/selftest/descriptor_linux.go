package selftest

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// carriedFD is where the client has a descriptor of the secret file, and lowFDs
// bounds the search for others.
const (
	carriedFD = 9
	lowFDs    = 1024
)

// carriedAttempts look for what the client's own process is full of: variables
// that hold secrets or that loaders obey, and descriptors.
func carriedAttempts() (out []Attempt) {
	add := func(name, tries, must string, g jail.Guarantee, probe func(*Site) Finding) {
		out = append(out, Attempt{Name: name, Tries: tries, Must: must, Guarantee: g, group: carried, probe: probe})
	}
	for _, name := range carriedNames {
		add("env."+strings.ToLower(name), "find the client's "+name, "it is not set", jail.Files, func(*Site) Finding {
			if v, ok := os.LookupEnv(name); ok && strings.Contains(v, Marker) {
				return succeeded("it is %.40q", v)
			}
			return refused("it is not there")
		})
	}
	add("env.init", "find a variable of the client's in process 1", "EACCES", jail.Files, func(*Site) Finding {
		env, err := os.ReadFile("/proc/1/environ")
		if err != nil {
			return refused("%v", err)
		}
		if !strings.Contains(string(env), Marker) {
			return refused("there is none")
		}
		return succeeded("one is there")
	})
	out[len(out)-1].NoControl = "process 1 without a jail is not the client's"
	add("fd.carried", "read the secret file from a descriptor that the client has open", "it was not inherited", jail.Files, func(*Site) Finding {
		b := make([]byte, 256)
		n, err := unix.Pread(carriedFD, b, 0)
		if err != nil || !strings.Contains(string(b[:n]), Marker) {
			return refused("%v", err)
		}
		return succeeded("descriptor %d is the secret file", carriedFD)
	})
	add("fd.directory", "find a descriptor that leads out of the jail", "none but 0, 1, 2 are inherited", jail.Files, func(*Site) Finding {
		for fd := 3; fd < lowFDs; fd++ {
			if what := leads(fd); what != "" {
				return succeeded("descriptor %d: %s", fd, what)
			}
		}
		return refused("there is none")
	})
	add("fd.stdout_read", "read back the file that the client writes output to", "output is a pipe", jail.Files, func(*Site) Finding {
		f, err := os.OpenFile("/proc/self/fd/2", os.O_RDWR|unix.O_NONBLOCK, 0)
		if err != nil {
			return refused("%v", err)
		}
		if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
			f.Close()
			return refused("it is no file")
		}
		return markedFile(f)
	})
	add("fd.stdout_truncate", "empty the file that the client writes output to", "output is a pipe", jail.Files, func(*Site) Finding {
		return fails(unix.Ftruncate(2, int64(len(Marker)+1)))
	})
	return out
}

// carriedNames are the variables that the client has.
var carriedNames = []string{
	carriedEnv, tokenSource, "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "PYTHONSTARTUP", "PYTHONPATH", "NODE_OPTIONS", "PERL5LIB", "RUBYOPT",
	"JAVA_TOOL_OPTIONS", "GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
	"KUBECONFIG", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY",
}

// leads says what is behind a descriptor that no probe opens itself.
func leads(fd int) string {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return ""
	}
	to, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR, unix.S_IFREG, unix.S_IFBLK, unix.S_IFSOCK:
		return to
	}
	return ""
}
