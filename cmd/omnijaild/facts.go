package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/daemon"
	"github.com/omnijail/omnijail/internal/node"
	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/netns"
)

// probeTimeout bounds the probes of a node that hangs.
const probeTimeout = 30 * time.Second

// facts is what this node can do, probed once at start.
type facts struct {
	settings   func() *config.Config
	known      node.Facts
	base       policy.Facts
	way        netns.Interception
	noSteering error // why it is not by sk_lookup
	noFence    error // why the node has no fence around egress processes
}

// policy is the node's part and what the configuration in force adds to it.
func (f *facts) policy() policy.Facts {
	set, out := f.settings(), f.base
	out.Limits = set.Limits.Jail()
	if set.Backend != "" {
		out.Backends = []string{set.Backend}
	}
	return out
}

// probe asks the node, one real jail included. A node that cannot run jails is
// no error here: doctor explains it, and each exec is refused with the reason.
func (f *facts) probe(set *config.Config, c daemon.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	gid, err := groupID(set.Group)
	if err != nil {
		return err
	}
	f.base = policy.Facts{
		System: systemDirs(), SocketGID: uint32(gid),
		Reserved: []string{set.RunDir, set.StateDir, filepath.Dir(set.Socket), "/etc/omnijail", "/usr/libexec/omnijail"},
	}
	f.known = node.Probe(ctx, node.Probes{
		Bwrap:    set.Bwrap,
		Network:  func() error { return try(f.way) },
		Steering: func() error { return f.noSteering },
		Drop:     func() error { return daemon.Drop(ctx, c, c.Backends[node.Bubblewrap]) },
		Bare:     func() error { return daemon.Drop(ctx, c, c.Backends[node.Alone]) },
		Fence:    func() error { return f.noFence },
	})
	f.base.Guarantees = f.known.Guarantees()
	f.base.Backends = []string{node.Bubblewrap} // the platform's; another must be asked for
	f.base.Obstacles = map[string]policy.Obstacle{}
	for _, name := range node.Names() {
		reason, fix := f.known.Obstacle(name)
		f.base.Obstacles[name] = policy.Obstacle{Reason: reason, Fix: fix}
	}
	if ctx.Err() != nil {
		return errors.New("the probes of this node did not end")
	}
	return nil
}

// systemDirs are the trees that a jail has from the node, or the links that the
// node has in their place.
func systemDirs() (dirs []policy.SystemDir) {
	// Runtimes read the number of processors from the last one.
	for _, p := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/sys/devices/system/cpu"} {
		fi, err := os.Lstat(p)
		if err != nil {
			continue
		}
		d := policy.SystemDir{Path: p}
		if fi.Mode()&os.ModeSymlink != 0 {
			if d.Link, err = os.Readlink(p); err != nil {
				continue
			}
		}
		dirs = append(dirs, d)
	}
	return append(dirs, nixStore()...)
}

// nixStore is where everything lies on NixOS, and what Nix installs elsewhere: all of
// it, which any user of the node may read. One that is a user's own is no part of the
// node.
func nixStore() []policy.SystemDir {
	const store, current = "/nix/store", "/run/current-system"
	var st unix.Stat_t
	if err := unix.Lstat(store, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Uid != 0 || st.Mode&unix.S_IWOTH != 0 {
		return nil
	}
	dirs := []policy.SystemDir{{Path: store}}
	// What PATH leads to on NixOS.
	if to, err := os.Readlink(current); err == nil && strings.HasPrefix(to, store+"/") {
		dirs = append(dirs, policy.SystemDir{Path: current, Link: to})
	}
	return dirs
}

// doctor is the report in the API's words.
func (f *facts) doctor() api.Doctor {
	r := f.known.Report(nil)
	d := api.Doctor{Exit: r.Exit, Text: r.Text()}
	for _, b := range r.Backends {
		out := api.BackendReport{Name: b.Name}
		for _, g := range b.Guarantees {
			if g.Given {
				out.Guarantees = append(out.Guarantees, string(g.Name))
			} else {
				out.Missing = append(out.Missing, string(g.Name))
			}
		}
		d.Backends = append(d.Backends, out)
	}
	for _, fact := range r.Facts {
		d.Facts = append(d.Facts, api.Fact{Name: string(fact.Name), State: fact.Answer.String(), Detail: fact.Detail, Fix: fact.Fix})
	}
	return d
}
