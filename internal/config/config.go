// Package config is omnijaild's own configuration: the file, its defaults, and
// the access decision that it states. Decoding is strict, and a file, or a folder
// above it, that somebody else than root could change is refused.
package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/omnijail/omnijail/internal/jail"
)

// Config is /etc/omnijail/omnijaild.yaml. A flag beats the file, the file the
// default. docs/configuration.md is generated from the comments here.
type Config struct {
	// Socket is the control socket, mode 0660 root:Group.
	Socket string `yaml:"socket"`
	// Group may open the socket: a name, or a numeric id that needs no entry.
	Group string `yaml:"group"`
	// EgressUser is the user and group of the egress processes. It must be
	// nobody's login and may not be able to open the socket.
	EgressUser string `yaml:"egress_user"`
	// RunDir holds the sockets, the folder in which jails are composed (stage) and
	// what all of them share, written once (shared); it is emptied by a reboot.
	// The flag --run-dir moves the sockets too, where the file does not name them.
	RunDir string `yaml:"run_dir"`
	// StateDir holds the audit file, and the caches of jails.
	StateDir string `yaml:"state_dir"`
	// PolicyDir holds root-owned policies, NAME.yaml each.
	PolicyDir string `yaml:"policy_dir"`
	// Bwrap is the root-owned bubblewrap; it is copied once at start and run
	// from memory, never through PATH.
	Bwrap string `yaml:"bwrap"`
	// Init is the root-owned omnijail-init, treated likewise. Default: the
	// file beside omnijaild in a build tree, else the installed one.
	Init string `yaml:"init"`
	// Upstream says how the node reaches the network on behalf of jails.
	Upstream Upstream `yaml:"upstream"`
	// Egress holds what the operator says once about addresses.
	Egress Egress `yaml:"egress"`
	// Access is who may use what; the first entry that matches decides, no
	// match refuses.
	Access []Access `yaml:"access"`
	// Limits are defaults and ceilings for every jail.
	Limits Limits `yaml:"limits"`
	// Audit is the journal of what jails did.
	Audit Audit `yaml:"audit"`
	// Metrics are served on a socket of root's.
	Metrics Metrics `yaml:"metrics"`
	// Interception is how jails' connections come to the proxy: by sk_lookup, in
	// the kernel, whatever their port, or by ports, at those that rules name. auto
	// is sk_lookup where the kernel has it, else ports.
	Interception string `yaml:"interception"`
	// Backend is used where a policy names none.
	Backend string `yaml:"backend"`
	// ReadyJails is how many jails wait, started, for a command: they take about
	// 1 MB each, and the longest part out of a start. A jail is used once. At most 64.
	ReadyJails int `yaml:"ready_jails"`
	// Drain is how long SIGTERM waits for running jails.
	Drain Duration `yaml:"drain"`
}

// Limits bound every jail; the smaller of policy, flag and these wins. What is
// not set is no limit.
type Limits struct {
	// Timeout is the longest time a command may run.
	Timeout Duration `yaml:"timeout"`
	// Memory is what a command and all it starts may use, swap included unless
	// swap is set; at least 16MiB.
	Memory Size `yaml:"memory"`
	// Swap is the most that a policy may let it have in swap besides memory.
	// Without it, nothing where memory is set.
	Swap Size `yaml:"swap"`
	// Pids is how many processes and threads it may have; at least 16.
	Pids int64 `yaml:"pids"`
	// CPU is how many processors' time it may use.
	CPU CPU `yaml:"cpu"`
	// OpenFiles is how many descriptors each of its processes may have; at
	// least 16.
	OpenFiles int64 `yaml:"open_files"`
	// FileSize is the largest file it may write.
	FileSize Size `yaml:"file_size"`
	// Scratch is the size of its home, and of its /tmp, in memory; at least
	// 1MiB.
	Scratch Size `yaml:"scratch"`
	// Cache is what its cache may hold on the disk, and what it is when nobody
	// says; at least 1MiB. Without it, 5GiB.
	Cache Size `yaml:"cache"`
}

// Jail returns the limits in the jail's own vocabulary.
func (l Limits) Jail() jail.Limits {
	return jail.Limits{
		Timeout: time.Duration(l.Timeout), Memory: int64(l.Memory), Swap: int64(l.Swap), Pids: l.Pids, CPU: int64(l.CPU),
		OpenFiles: l.OpenFiles, FileSize: int64(l.FileSize), Scratch: int64(l.Scratch), Cache: int64(l.Cache),
	}
}

// Audit says where the journal is and how it is kept.
type Audit struct {
	// File is the journal; default STATE/audit.jsonl.
	File string `yaml:"file"`
	// Rotate is the size at which a new file is begun.
	Rotate Size `yaml:"rotate"`
	// Retain is how long no file is deleted.
	Retain Duration `yaml:"retain"`
	// Max is the size of all files together; at it, new requests are refused.
	Max Size `yaml:"max"`
	// Full says what happens then; deny is the only value.
	Full string `yaml:"full"`
	// Reserve is kept for root's and credential records.
	Reserve Size `yaml:"reserve"`
}

// Metrics says where Prometheus may read.
type Metrics struct {
	// Socket is the metrics socket, mode 0600 root; default RUN/metrics.sock.
	Socket string `yaml:"socket"`
}

// Default returns the configuration without a file.
func Default() Config {
	return Config{
		Socket: "/run/omnijail/omnijaild.sock", Group: "omnijail", EgressUser: "omnijail-egress",
		RunDir: "/run/omnijail", StateDir: "/var/lib/omnijail", PolicyDir: "/etc/omnijail/policies",
		Interception: "auto", ReadyJails: 2,
		Bwrap: "/usr/bin/bwrap", Init: "/usr/libexec/omnijail/omnijail-init",
		Access: []Access{DefaultAccess("omnijail")},
		Audit: Audit{
			Rotate: 100 << 20, Retain: Duration(720 * time.Hour), Max: 1 << 30, Full: "deny", Reserve: 16 << 20,
		},
	}
}

// Load reads path over the defaults. A missing file is an error only when
// required. The file must be root's alone.
func Load(path string, required bool) (Config, error) {
	c := Default()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && !required {
		return c, c.Check()
	}
	if err != nil {
		return c, err
	}
	if err := RootOwned(path); err != nil {
		return c, err
	}
	if err := decode(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if err := c.Check(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// What the key interception may be.
const (
	InterceptAuto     = "auto"
	InterceptSkLookup = "sk_lookup"
	InterceptPorts    = "ports"
)

// maxReadyJails bounds what a daemon without any command takes of its node.
const maxReadyJails = 64

// backends are those that the key backend may name.
var backends = []string{"linux_bwrap", "linux_landlock"}

// Check refuses what would open or could not work.
func (c *Config) Check() error {
	var errs []error
	for key, p := range map[string]string{
		"socket": c.Socket, "run_dir": c.RunDir, "state_dir": c.StateDir, "policy_dir": c.PolicyDir,
		"bwrap": c.Bwrap, "init": c.Init,
	} {
		if !strings.HasPrefix(p, "/") {
			errs = append(errs, fmt.Errorf("%s: %q must be an absolute path", key, p))
		}
	}
	if c.Group == "" || c.EgressUser == "" {
		errs = append(errs, errors.New("group, egress_user: must not be empty"))
	}
	if c.Audit.File == "" {
		c.Audit.File = c.StateDir + "/audit.jsonl"
	}
	if c.Metrics.Socket == "" {
		c.Metrics.Socket = c.RunDir + "/metrics.sock"
	}
	if c.Audit.Full != "deny" {
		errs = append(errs, fmt.Errorf("audit.full: %q: only deny is offered", c.Audit.Full))
	}
	if c.Group == c.EgressUser {
		errs = append(errs, fmt.Errorf("egress_user: %q is also the socket's group, so an egress process could command the daemon", c.EgressUser))
	}
	if c.Backend != "" && !slices.Contains(backends, c.Backend) {
		errs = append(errs, fmt.Errorf("backend: %q is not in this build (%s are)", c.Backend, strings.Join(backends, " and ")))
	}
	switch c.Interception {
	case InterceptAuto, InterceptSkLookup, InterceptPorts:
	default:
		errs = append(errs, fmt.Errorf("interception: %q: there are %s, %s and %s", c.Interception, InterceptAuto, InterceptSkLookup, InterceptPorts))
	}
	if c.ReadyJails < 0 || c.ReadyJails > maxReadyJails {
		errs = append(errs, fmt.Errorf("ready_jails: %d is not between 0 and %d", c.ReadyJails, maxReadyJails))
	}
	if err := c.Limits.Jail().Check(); err != nil {
		errs = append(errs, fmt.Errorf("limits.%w", err))
	}
	errs = append(errs, c.Upstream.check()...)
	errs = append(errs, c.Egress.check()...)
	for i := range c.Access {
		errs = append(errs, c.Access[i].check(i)...)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
