package bwrap

import (
	"fmt"
	"path"
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/runtime/oci"
)

// Name is the policy's word for this backend.
const Name = "linux_bwrap"

// Args returns bwrap's options for spec, without those that name descriptors.
// It holds no value of the caller's. The error is a *jail.UnsupportedError for a
// line of the spec that bwrap cannot enforce.
func Args(spec *jail.Spec, st jail.Staged) ([]string, error) {
	if err := oci.Check(Name, spec); err != nil {
		return nil, err
	}
	args := []string{
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
		"--hostname", oci.Hostname,
		"--die-with-parent",
		// Without a user namespace a bwrap of root's keeps everything by default.
		"--cap-drop", "ALL",
		"--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP",
	}
	before, after := splitMounts(st.Mounts)
	made := map[string]bool{"/": true}
	for _, m := range before {
		args = append(args, ancestors(m.Dest, made)...)
		args = append(args, bind(m)...)
	}
	args = append(args, "--proc", "/proc")
	for _, p := range spec.OCI.Linux.ReadonlyPaths {
		// What is bound is the node's, but below /proc/sys the kernel answers for
		// whoever reads, and what does not exist needs no protection.
		args = append(args, "--ro-bind-try", p, p)
	}
	for _, m := range after {
		args = append(args, bind(m)...)
	}
	if err := checkMounts(st.Mounts); err != nil {
		return nil, err
	}
	return append(args, "--chdir", "/"), nil
}

// splitMounts separates what covers parts of /proc, which is mounted in between.
func splitMounts(mounts []jail.StagedMount) (before, after []jail.StagedMount) {
	for _, m := range mounts {
		if jail.Within("/proc", m.Dest) {
			after = append(after, m)
		} else {
			before = append(before, m)
		}
	}
	return before, after
}

// ancestors makes each missing directory above dest by name: one that bwrap
// makes by itself has mode 0700 in some versions.
func ancestors(dest string, made map[string]bool) (args []string) {
	if dest == "/" || made[dest] {
		return nil
	}
	if parent := path.Dir(dest); parent != "/" {
		args = ancestors(parent, made)
		if !made[parent] {
			args = append(args, "--dir", parent)
			made[parent] = true
		}
	}
	return args
}

// bind binds with the flags that the staged mounts have: --bind would add
// nodev to the devices too.
func bind(m jail.StagedMount) []string {
	if m.ReadOnly {
		return []string{"--ro-bind", m.Source, m.Dest}
	}
	return []string{"--dev-bind", m.Source, m.Dest}
}

// checkMounts holds the staging to what bwrap may be given.
func checkMounts(mounts []jail.StagedMount) error {
	for i, m := range mounts {
		if !path.IsAbs(m.Source) || path.Clean(m.Source) != m.Source || !path.IsAbs(m.Dest) || path.Clean(m.Dest) != m.Dest {
			return fmt.Errorf("staged mount %q at %q is not absolute and clean", m.Source, m.Dest)
		}
		inside := slices.ContainsFunc(mounts[:i], func(o jail.StagedMount) bool {
			return o.Dest != "/" && jail.Within(o.Dest, m.Dest)
		})
		if inside {
			return fmt.Errorf("staged mount at %s would lie inside another bound directory", m.Dest)
		}
	}
	return nil
}
