package landlock

import (
	"errors"
	"slices"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/runtime/oci"
)

func lowerable(weaken ...jail.Weakening) *jail.Spec {
	config := &specs.Spec{
		Hostname: oci.Hostname,
		Process:  &specs.Process{User: specs.User{UID: 1000, GID: 1000}, Args: []string{"never", "lowered"}, Cwd: "/", NoNewPrivileges: true},
		Linux:    &specs.Linux{MaskedPaths: []string{"/proc/kcore"}, ReadonlyPaths: []string{"/proc/sys"}},
	}
	for _, n := range oci.Namespaces {
		config.Linux.Namespaces = append(config.Linux.Namespaces, specs.LinuxNamespace{Type: n})
	}
	return &jail.Spec{OCI: config, Weaken: weaken, Env: jail.EnvPlan{Set: map[string]string{"SECRET": "never lowered"}}}
}

var staged = jail.Staged{Mounts: []jail.StagedMount{
	{Source: "/root", Dest: "/", Dir: true},
	{Source: "/empty/file", Dest: "/proc/kcore", ReadOnly: true},
}}

func TestArgs(t *testing.T) {
	for want, weaken := range map[string][]jail.Weakening{
		"0 0 0 default root /root read-only /proc/sys cover /empty/file /proc/kcore": nil,
		"0 0 0 ptrace root /root read-only /proc/sys cover /empty/file /proc/kcore":  {jail.WeakPtrace},
	} {
		o, err := Args(lowerable(weaken...), staged)
		if got := strings.Join(o.Args(), " "); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

// TestS05_WhatCannotBeEnforcedIsRefused: each with the word of the policy.
func TestS05_WhatCannotBeEnforcedIsRefused(t *testing.T) {
	for _, w := range []jail.Weakening{jail.WeakNestedSandbox, jail.WeakCompatABI} {
		_, err := Args(lowerable(w), staged)
		var refused *jail.UnsupportedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Feature, string(w)) || refused.Fix == "" {
			t.Errorf("%s: %v", w, err)
		}
	}
	for name, n := range map[string]specs.LinuxNamespaceType{"pid": "pid", "ipc": "ipc", "uts": "uts", "cgroup": "cgroup", "network": "network", "mount": "mount"} {
		s := lowerable()
		s.OCI.Linux.Namespaces = slices.DeleteFunc(s.OCI.Linux.Namespaces, func(o specs.LinuxNamespace) bool { return o.Type == n })
		if _, err := Args(s, staged); err == nil {
			t.Errorf("a jail in the node's %s namespace", name)
		}
	}
	for name, st := range map[string]jail.Staged{
		"nothing staged":   {},
		"a second root":    {Mounts: append(slices.Clone(staged.Mounts), staged.Mounts[0])},
		"a writable cover": {Mounts: []jail.StagedMount{staged.Mounts[0], {Source: "/a", Dest: "/proc/kcore"}}},
		"a bind elsewhere": {Mounts: []jail.StagedMount{staged.Mounts[0], {Source: "/a", Dest: "/home/u", ReadOnly: true}}},
	} {
		if _, err := Args(lowerable(), st); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
