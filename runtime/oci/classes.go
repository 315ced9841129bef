// Package oci holds the OCI part of a jail to what the Linux backends enforce.
// They share the staged tree and omnijail-init, and so they share the classes:
// every field is enforced, rejected with its name, or asks nothing of a backend.
package oci

import (
	"fmt"
	"reflect"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/omnijail/omnijail/internal/jail"
)

// class says what becomes of one field of an OCI spec.
type class int

const (
	// enforced: by the backend, by the staged tree, or by the launch
	// record. Fields of an enforced struct have classes of their own.
	enforced class = iota + 1
	// rejected: a value in it is an *UnsupportedError.
	rejected
	// meaningless: it asks nothing of a backend.
	meaningless
)

// classes names every field of specs.Spec that can be reached through enforced
// ones. A test fails on a field that is missing here.
var classes = map[string]class{
	"Version":     meaningless,
	"Process":     enforced,
	"Root":        rejected, // the root is the staged tree
	"Hostname":    enforced,
	"Domainname":  rejected,
	"Mounts":      enforced, // by the staged tree, which looks them up on the node
	"Hooks":       rejected,
	"Annotations": meaningless,
	"Linux":       enforced,
	"Solaris":     rejected, "Windows": rejected, "VM": rejected, "ZOS": rejected, "FreeBSD": rejected,

	"Process.Terminal":              meaningless, // a jail has a terminal when its launch record says so
	"Process.ConsoleSize":           meaningless, // the client sends sizes
	"Process.User":                  enforced,
	"Process.User.UID":              enforced, // by init
	"Process.User.GID":              enforced,
	"Process.User.AdditionalGids":   enforced,
	"Process.User.Umask":            rejected, // init sets 022
	"Process.User.Username":         rejected,
	"Process.Args":                  meaningless, // the launch record has them, as bytes
	"Process.CommandLine":           rejected,
	"Process.Env":                   rejected, // what runs with privilege has no environment
	"Process.Cwd":                   enforced,
	"Process.Capabilities":          enforced, // all five sets are empty
	"Process.Rlimits":               enforced, // by init
	"Process.NoNewPrivileges":       enforced, // always
	"Process.ApparmorProfile":       rejected,
	"Process.OOMScoreAdj":           rejected,
	"Process.Scheduler":             rejected,
	"Process.SelinuxLabel":          rejected,
	"Process.IOPriority":            rejected,
	"Process.ExecCPUAffinity":       rejected,
	"Process.Capabilities.Bounding": rejected, "Process.Capabilities.Effective": rejected,
	"Process.Capabilities.Inheritable": rejected, "Process.Capabilities.Permitted": rejected,
	"Process.Capabilities.Ambient": rejected,

	"Linux.UIDMappings":       rejected, // no user namespace
	"Linux.GIDMappings":       rejected,
	"Linux.Sysctl":            rejected,
	"Linux.Resources":         rejected, // the exec's cgroup has them
	"Linux.CgroupsPath":       rejected,
	"Linux.Namespaces":        enforced,
	"Linux.Devices":           rejected,
	"Linux.NetDevices":        rejected,
	"Linux.Seccomp":           rejected, // the filters are committed programs
	"Linux.RootfsPropagation": rejected,
	"Linux.MaskedPaths":       enforced,
	"Linux.ReadonlyPaths":     enforced,
	"Linux.MountLabel":        rejected,
	"Linux.IntelRdt":          rejected,
	"Linux.MemoryPolicy":      rejected,
	"Linux.Personality":       rejected,
	"Linux.TimeOffsets":       rejected,
}

// readOnlyProc are the parts of /proc that are the same seen from any namespace,
// and can therefore be bound from the node's.
var readOnlyProc = []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}

// Hostname is the one name that a jail has.
const Hostname = "omnijail"

// Namespaces are fresh in every jail, in alphabetical order.
var Namespaces = []specs.LinuxNamespaceType{
	specs.CgroupNamespace, specs.IPCNamespace, specs.MountNamespace,
	specs.NetworkNamespace, specs.PIDNamespace, specs.UTSNamespace,
}

// Check refuses what the backend of that name cannot enforce, with a
// *jail.UnsupportedError.
func Check(backend string, spec *jail.Spec) error {
	unsupported := func(feature, need string) error {
		return &jail.UnsupportedError{Backend: backend, Feature: feature, Need: need}
	}
	oci := spec.OCI
	if oci == nil || oci.Process == nil || oci.Linux == nil {
		return fmt.Errorf("internal error: the jail has no OCI process or Linux section")
	}
	if field := firstRejected(reflect.ValueOf(*oci), ""); field != "" {
		return unsupported("OCI field "+field, "a spec without it")
	}
	switch {
	case oci.Process.User.UID == 0 || oci.Process.User.GID == 0:
		return unsupported("a command as uid 0 or gid 0", "an unprivileged user")
	case !oci.Process.NoNewPrivileges:
		return unsupported("new privileges", "no_new_privs")
	case oci.Hostname != Hostname:
		return unsupported("hostname "+oci.Hostname, "hostname "+Hostname)
	}
	var types []specs.LinuxNamespaceType
	for _, n := range oci.Linux.Namespaces {
		if n.Path != "" {
			return unsupported("joining namespace "+n.Path, "fresh namespaces")
		}
		types = append(types, n.Type)
	}
	slices.Sort(types)
	if !slices.Equal(types, Namespaces) {
		return unsupported(fmt.Sprintf("the namespaces %v", types), fmt.Sprint(Namespaces))
	}
	for _, p := range oci.Linux.ReadonlyPaths {
		if !slices.Contains(readOnlyProc, p) {
			return unsupported("read-only path "+p, "one of "+fmt.Sprint(readOnlyProc))
		}
	}
	for _, p := range oci.Linux.MaskedPaths {
		if !jail.Within("/proc", p) {
			return unsupported("masked path "+p, "a path below /proc")
		}
	}
	return nil
}

// firstRejected names the first field with a value that no backend enforces, or
// that nobody has classified.
func firstRejected(v reflect.Value, prefix string) string {
	for i := range v.NumField() {
		name, f := prefix+v.Type().Field(i).Name, v.Field(i)
		switch c := classes[name]; {
		case c == meaningless || f.IsZero():
		case c != enforced:
			if (f.Kind() == reflect.Slice || f.Kind() == reflect.Map) && f.Len() == 0 {
				continue
			}
			return name
		default:
			if s := structOf(f); s.IsValid() {
				if bad := firstRejected(s, name+"."); bad != "" {
					return bad
				}
			}
		}
	}
	return ""
}

// structOf returns the struct in f or behind it; invalid for anything else.
func structOf(f reflect.Value) reflect.Value {
	if f.Kind() == reflect.Pointer {
		f = f.Elem()
	}
	if f.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return f
}
