package config

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/omnijail/omnijail/internal/jail"
)

// Access says what some callers may do.
type Access struct {
	// Users and Groups are names or ids, compared as kernel ids. Groups are
	// those of the connection itself, not of the user database.
	Users  []string `yaml:"users"`
	Groups []string `yaml:"groups"`
	// Confined entries, and only they, hold for callers that are more confined
	// than the daemon (a container, another sandbox).
	Confined bool `yaml:"confined"`
	// Policies are names of root-owned policies and presets, "*" for all of
	// them, "own" for the caller's own documents.
	Policies []string `yaml:"policies"`
	// Weaken lists the weakenings that a policy of theirs may have.
	Weaken []string `yaml:"weaken"`
	// Sources lists the kinds of credential source.
	Sources []string `yaml:"sources"`
	// Publish lets their jails' ports be published on the node's loopback.
	Publish bool `yaml:"publish"`
	// NodePorts lists the ports of the node's loopback that their jails may
	// reach; "*" for all.
	NodePorts []string `yaml:"node_ports"`
	// Jails bounds how many jails one uid has at a time; 0 is 64.
	Jails int `yaml:"jails"`
	// Cache bounds what the caches of one uid hold together; 0 is 20GiB. The one
	// that was not used for the longest time gives way.
	Cache Size `yaml:"cache"`
	// SystemUIDs admits jails of uids below the system limit.
	SystemUIDs []uint32 `yaml:"system_uids"`
}

const (
	defaultJails = 64
	defaultCache = 20 << 30
)

// DefaultAccess is what holds without an access key.
func DefaultAccess(group string) Access {
	return Access{
		Groups: []string{group}, Policies: []string{"own", "*"}, Sources: []string{"env", "file", "command"},
		Publish: true,
	}
}

func (a *Access) check(i int) (errs []error) {
	for _, w := range a.Weaken {
		if _, err := jail.ParseWeakening(w); err != nil {
			errs = append(errs, fmt.Errorf("access[%d].weaken: %w", i, err))
		}
	}
	for _, s := range a.Sources {
		if !slices.Contains([]string{"env", "file", "command", "systemd"}, s) {
			errs = append(errs, fmt.Errorf("access[%d].sources: unknown source kind %q", i, s))
		}
	}
	if a.Confined && (slices.Contains(a.Policies, "own") || slices.Contains(a.Policies, "*")) {
		errs = append(errs, fmt.Errorf("access[%d].policies: a confined caller gets root-owned policies by name, never its own and never all", i))
	}
	for _, p := range a.NodePorts {
		if n, err := strconv.ParseUint(p, 10, 16); p != "*" && (err != nil || n == 0) {
			errs = append(errs, fmt.Errorf("access[%d].node_ports: %q is no port", i, p))
		}
	}
	if a.Jails < 0 {
		errs = append(errs, fmt.Errorf("access[%d].jails: must not be negative", i))
	}
	if a.Jails == 0 {
		a.Jails = defaultJails
	}
	if a.Cache == 0 {
		a.Cache = defaultCache
	}
	return errs
}

// Subject is a caller as the kernel described it.
type Subject struct {
	UID      uint32
	Groups   []uint32 // primary and supplementary
	Confined bool
}

// Names turns names into ids; an id is its own.
type Names struct {
	User  func(string) (uint32, bool)
	Group func(string) (uint32, bool)
}

// Decide returns the first entry that holds for s, or nil: refuse. Root has all.
func Decide(entries []Access, s Subject, n Names) *Access {
	if s.UID == 0 && !s.Confined {
		all := Access{Policies: []string{"own", "*"}, Sources: []string{"env", "file", "command", "systemd"}, Publish: true, NodePorts: []string{"*"}, Jails: 1 << 20, Cache: defaultCache}
		for _, w := range jail.Weakenings {
			all.Weaken = append(all.Weaken, string(w))
		}
		return &all
	}
	for i := range entries {
		if e := &entries[i]; e.Confined == s.Confined && e.matches(s, n) {
			return e
		}
	}
	return nil
}

func (a *Access) matches(s Subject, n Names) bool {
	for _, u := range a.Users {
		if id, ok := resolve(u, n.User); ok && id == s.UID {
			return true
		}
	}
	for _, g := range a.Groups {
		if id, ok := resolve(g, n.Group); ok && slices.Contains(s.Groups, id) {
			return true
		}
	}
	return false
}

// MayUse reports whether a policy of that name, or an own one, may be used.
func (a *Access) MayUse(policy string, own bool) bool {
	if own {
		return slices.Contains(a.Policies, "own")
	}
	return slices.Contains(a.Policies, "*") || slices.Contains(a.Policies, policy)
}

// MayReach reports whether a jail may reach a port of the node's loopback.
func (a *Access) MayReach(port uint16) bool {
	return slices.Contains(a.NodePorts, "*") || slices.Contains(a.NodePorts, strconv.Itoa(int(port)))
}

func resolve(name string, lookup func(string) (uint32, bool)) (uint32, bool) {
	if id, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(id), true
	}
	if lookup == nil {
		return 0, false
	}
	return lookup(name)
}
