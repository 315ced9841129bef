package policy

import (
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Hostname is what a jail calls itself.
const Hostname = "omnijail"

// Sizes of the file systems that a jail has in memory.
const (
	scratchSize = "size=2147483648"
	shmSize     = "size=268435456"
)

// ociSpec is the part of a jail that the OCI runtime specification has words
// for. Its mounts have root-owned sources only; what is the caller's is in the
// View. There is no environment: values travel to the last step alone.
func ociSpec(req Request, facts Facts, home string, groups []uint32) *specs.Spec {
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
			Rlimits:         rlimits(),
		},
		Mounts: mounts(facts.System, home),
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

// rlimits: a core limit of exactly 1 keeps the kernel from running the node's
// crash handler as root on a process of the jail; 0 would not.
func rlimits() []specs.POSIXRlimit {
	return []specs.POSIXRlimit{
		{Type: "RLIMIT_CORE", Hard: 1, Soft: 1},
		{Type: "RLIMIT_MEMLOCK", Hard: 8 << 20, Soft: 8 << 20},
		{Type: "RLIMIT_MSGQUEUE", Hard: 819200, Soft: 819200},
		{Type: "RLIMIT_NICE", Hard: 0, Soft: 0},
		{Type: "RLIMIT_RTPRIO", Hard: 0, Soft: 0},
	}
}

// mounts are in mounting order. A link of the node (/bin -> usr/bin) is an entry
// of type "symlink" whose source is the target.
func mounts(system []SystemDir, home string) []specs.Mount {
	out := []specs.Mount{{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "nodev", "noexec"}}}
	for _, d := range system {
		if d.Link != "" {
			out = append(out, specs.Mount{Destination: d.Path, Type: "symlink", Source: d.Link})
			continue
		}
		out = append(out, specs.Mount{Destination: d.Path, Type: "bind", Source: d.Path, Options: []string{"rbind", "ro", "nosuid", "nodev"}})
	}
	memory := func(dest, size, mode string) specs.Mount {
		return specs.Mount{Destination: dest, Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", size, mode}}
	}
	return append(out,
		memory("/tmp", scratchSize, "mode=1777"),
		memory("/dev/shm", shmSize, "mode=1777"),
		memory(home, scratchSize, "mode=0700"),
	)
}
