package policy

import (
	"fmt"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/omnijail/omnijail/internal/jail"
)

// Hostname is what a jail calls itself.
const Hostname = "omnijail"

// Sizes of the file systems that a jail has in memory.
const (
	scratchSize = 2 << 30
	shmSize     = 256 << 20
)

// ociSpec is the part of a jail that the OCI runtime specification has words
// for. Its mounts have root-owned sources only; what is the caller's is in the
// View. There is no environment: values travel to the last step alone.
func ociSpec(req Request, facts Facts, limits jail.Limits, home string, groups []uint32) *specs.Spec {
	return &specs.Spec{
		Version:  specs.Version,
		Hostname: Hostname,
		Process: &specs.Process{
			Terminal:        req.TTY,
			User:            specs.User{UID: req.User.UID, GID: req.User.GID, AdditionalGids: groups},
			Args:            slices.Clone(req.Argv),
			Cwd:             req.Cwd,
			Capabilities:    &specs.LinuxCapabilities{},
			NoNewPrivileges: true,
			Rlimits:         rlimits(limits),
		},
		Mounts: mounts(facts.System, limits.Scratch, home),
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.MountNamespace}, {Type: specs.PIDNamespace}, {Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace}, {Type: specs.CgroupNamespace}, {Type: specs.NetworkNamespace},
			},
			MaskedPaths: []string{
				"/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sysrq-trigger", "/proc/timer_list",
			},
			ReadonlyPaths: []string{"/proc/sys"},
		},
	}
}

// Usual is the part of a jail that is the same for every caller and policy that asks
// for nothing rare: what a jail can be started with before its command comes.
func Usual(facts Facts) *jail.Spec {
	nobody := Request{User: jail.User{UID: 1, GID: 1}, Cwd: "/"} // replaced with the command
	return &jail.Spec{Backends: facts.Backends, OCI: ociSpec(nobody, facts, jail.Limits{}, "", nil)}
}

// rlimits: a core limit of exactly 1 keeps the kernel from running the node's
// crash handler as root on a process of the jail; 0 would not.
func rlimits(l jail.Limits) []specs.POSIXRlimit {
	out := []specs.POSIXRlimit{
		{Type: "RLIMIT_CORE", Hard: 1, Soft: 1},
		{Type: "RLIMIT_MEMLOCK", Hard: 8 << 20, Soft: 8 << 20},
		{Type: "RLIMIT_MSGQUEUE", Hard: 819200, Soft: 819200},
		{Type: "RLIMIT_NICE", Hard: 0, Soft: 0},
		{Type: "RLIMIT_RTPRIO", Hard: 0, Soft: 0},
	}
	for name, v := range map[string]int64{"RLIMIT_FSIZE": l.FileSize, "RLIMIT_NOFILE": l.OpenFiles} {
		if v > 0 {
			out = append(out, specs.POSIXRlimit{Type: name, Hard: uint64(v), Soft: uint64(v)})
		}
	}
	slices.SortFunc(out, func(a, b specs.POSIXRlimit) int { return strings.Compare(a.Type, b.Type) })
	return out
}

// mounts are in mounting order. A link of the node (/bin -> usr/bin) is an entry
// of type "symlink" whose source is the target.
func mounts(system []SystemDir, scratch int64, home string) []specs.Mount {
	out := []specs.Mount{{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "nodev", "noexec"}}}
	for _, d := range system {
		if d.Link != "" {
			out = append(out, specs.Mount{Destination: d.Path, Type: "symlink", Source: d.Link})
			continue
		}
		out = append(out, specs.Mount{Destination: d.Path, Type: "bind", Source: d.Path, Options: []string{"rbind", "ro", "nosuid", "nodev"}})
	}
	if scratch == 0 {
		scratch = scratchSize
	}
	memory := func(dest string, size int64, mode string) specs.Mount {
		return specs.Mount{Destination: dest, Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", fmt.Sprintf("size=%d", size), mode}}
	}
	return append(out,
		memory("/tmp", scratch, "mode=1777"),
		memory("/dev/shm", shmSize, "mode=1777"),
		memory(home, scratch, "mode=0700"),
	)
}
