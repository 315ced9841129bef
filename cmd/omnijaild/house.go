package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caches"
	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/cleanup"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/daemon"
	"github.com/omnijail/omnijail/internal/jail"
	walls "github.com/omnijail/omnijail/internal/landlock"
	"github.com/omnijail/omnijail/internal/node"
	"github.com/omnijail/omnijail/internal/peercred"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/netns"
	"github.com/omnijail/omnijail/runtime/bwrap"
	"github.com/omnijail/omnijail/runtime/landlock"
	"github.com/omnijail/omnijail/runtime/none"
)

const (
	networkPool = 8
	spawners    = 4
	// sweepTimeout bounds the removal of what a killed daemon left.
	sweepTimeout = 30 * time.Second
	// lockTimeout bounds the wait for a run directory that another daemon has.
	lockTimeout = 2 * time.Second
)

// house is everything that the daemon holds open.
type house struct {
	undo     cleanup.Stack
	settings atomic.Pointer[config.Config]
	manager  *daemon.Manager
	self     peercred.Self
}

func (h *house) close() { h.undo.Run() }

// openHouse makes directories, takes the lock, sweeps, and builds the Manager.
// After an error nothing is left open.
func openHouse(set *config.Config, log *slog.Logger) (*house, error) {
	h := &house{}
	h.settings.Store(set)
	if err := h.open(set, log); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *house) open(set *config.Config, log *slog.Logger) (err error) {
	unix.Umask(0o077)
	if h.self, err = peercred.Myself(); err != nil {
		return err
	}
	if err := directories(set); err != nil {
		return err
	}
	if err := h.lock(set); err != nil {
		return err
	}
	h.undo.Add(func() error { return tidy(set) })
	if err := empty(sharedDir(set)); err != nil { // of what a killed daemon left
		return err
	}
	if err := spawn.LimitCore(); err != nil {
		log.Warn("crash handlers of this node may run for jailed programs", "err", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	facts := &facts{settings: h.settings.Load}
	if facts.way, facts.noSteering = interception(set); facts.noSteering != nil {
		log.Warn("connections of jails are not steered by the kernel", "interception", facts.way, "why", facts.noSteering)
	}
	c, err := h.parts(set, facts.way, log)
	if err != nil {
		return err
	}
	if c.Fence, facts.noFence = newFence(c.Cgroups); facts.noFence != nil {
		log.Warn("egress processes are guarded by their own code alone", "err", facts.noFence)
	} else {
		h.undo.Add(c.Fence.Close)
	}
	c.Facts, c.Doctor = facts.policy, facts.doctor
	if err := facts.probe(set, c); err != nil {
		return err
	}
	// In a mount namespace of its own a caller's path would mean another file.
	if f := facts.known.Get(node.NodeMounts); f.Answer == node.No {
		return fmt.Errorf("%s: %s", f.Detail, f.Fix)
	}
	h.manager, err = daemon.New(c)
	return err
}

// parts opens what a Manager joins.
func (h *house) parts(set *config.Config, way netns.Interception, log *slog.Logger) (c daemon.Config, err error) {
	c = daemon.Config{Settings: h.settings.Load, StageDir: stageDir(set), SharedDir: sharedDir(set), Log: log}
	if c.Egress, err = egressIDs(set); err != nil {
		return c, err
	}
	hierarchy, err := cgroup.Find()
	if err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	id := instanceID(set)
	if err := hierarchy.Sweep(ctx, id); err != nil {
		return c, fmt.Errorf("remove what an earlier daemon left: %w", err)
	}
	if c.Cgroups, err = hierarchy.Instance(id); err != nil {
		return c, err
	}
	h.undo.Add(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
		defer cancel()
		return hierarchy.Sweep(ctx, id)
	})
	if c.Journal, err = audit.Open(audit.Options{
		File: set.Audit.File, Rotate: int64(set.Audit.Rotate), Retain: time.Duration(set.Audit.Retain),
		Max: int64(set.Audit.Max), Reserve: int64(set.Audit.Reserve),
	}); err != nil {
		return c, err
	}
	h.undo.Add(c.Journal.Close)
	if c.Caches, err = caches.Open(filepath.Join(set.StateDir, "cache")); err != nil {
		return c, err
	}
	if c.Backends, err = h.backends(set); err != nil {
		return c, err
	}
	initd, err := bwrap.Load(initPath(set))
	if err != nil {
		return c, err
	}
	h.undo.Add(initd.Close)
	c.Init = initd.File()
	if c.Self, err = os.Open("/proc/self/exe"); err != nil {
		return c, err
	}
	h.undo.Add(c.Self.Close)
	c.Networks = netns.NewPool(networkPool, way)
	h.undo.Add(func() error { c.Networks.Close(); return nil })
	c.Spawner, err = spawn.New(spawners)
	return c, err
}

// backends are those of this build for which the node has the program.
func (h *house) backends(set *config.Config) (map[string]jail.Backend, error) {
	out := map[string]jail.Backend{landlock.Name: landlock.New(walls.ABI()), none.Name: none.Backend{}}
	wrap, err := bwrap.Load(set.Bwrap)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	h.undo.Add(wrap.Close)
	out[bwrap.Name] = bwrap.New(wrap)
	return out, nil
}

// initPath is the configured omnijail-init or, in a build tree, the one beside
// this program.
func initPath(set *config.Config) string {
	if set.Init != config.Default().Init {
		return set.Init
	}
	if self, err := os.Executable(); err == nil && filepath.Dir(self) != "/usr/sbin" {
		beside := filepath.Join(filepath.Dir(self), "omnijail-init")
		if _, err := os.Stat(beside); err == nil {
			return beside
		}
	}
	return set.Init
}

// directories makes the run and state directories and refuses any that somebody
// else than root could change.
func directories(set *config.Config) error {
	for dir, mode := range map[string]os.FileMode{
		set.RunDir: 0o755, stageDir(set): 0o700, set.StateDir: 0o700, filepath.Dir(set.Audit.File): 0o700,
	} {
		if err := os.MkdirAll(dir, mode); err != nil {
			return err
		}
		if err := config.RootOwned(dir); err != nil {
			return err
		}
	}
	if err := os.Chmod(set.RunDir, 0o755); err != nil { // the umask took it
		return err
	}
	for _, socket := range []string{set.Socket, set.Metrics.Socket} {
		if err := config.RootOwned(filepath.Dir(socket)); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("socket %s: %w (mkdir -p %s)", socket, err, filepath.Dir(socket))
		} else if err != nil {
			return fmt.Errorf("socket %s: %w", socket, err)
		}
	}
	if _, err := os.Stat(set.PolicyDir); err == nil {
		return config.RootOwned(set.PolicyDir)
	}
	return nil
}

// empty makes dir anew, without what is in it.
func empty(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Mkdir(dir, 0o700)
}

// lock makes this the only daemon, or cleanup, of its run directory. The lock is
// on the directory itself, so that no file of it stays behind.
func (h *house) lock(set *config.Config) error {
	f, err := os.Open(set.RunDir)
	if err != nil {
		return err
	}
	h.undo.Add(f.Close)
	// A child that a killed daemon had just forked has its lock until it executes.
	for end := time.Now().Add(lockTimeout); ; time.Sleep(10 * time.Millisecond) {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("another omnijaild uses %s: give this one its own --run-dir", set.RunDir)
	}
	return nil
}

// tidy removes what a daemon has in its run directory beside the control socket,
// which may be systemd's. Nothing of it need be there.
func tidy(set *config.Config) (err error) {
	for _, path := range []string{stageDir(set), set.Metrics.Socket} {
		if e := os.Remove(path); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, os.RemoveAll(sharedDir(set)))
}

// sharedDir is where what all jails have is written once.
func sharedDir(set *config.Config) string { return filepath.Join(set.RunDir, "shared") }

// stageDir is where each start mounts its stage, in a mount namespace of its own.
func stageDir(set *config.Config) string { return filepath.Join(set.RunDir, "stage") }

// instanceID names this daemon's cgroups. It follows from the run directory, so
// that the next daemon there finds what this one leaves, and no other does.
func instanceID(set *config.Config) string {
	sum := sha256.Sum256([]byte(set.RunDir))
	return hex.EncodeToString(sum[:6])
}

func groupID(name string) (int, error) {
	if id, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(id), nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("group %q of the socket: %w (groupadd --system %s)", name, err, name)
	}
	return strconv.Atoi(g.Gid)
}

// egressIDs finds the egress user and refuses one that could open the socket.
func egressIDs(set *config.Config) (ids daemon.IDs, err error) {
	gid, err := groupID(set.Group)
	if err != nil {
		return ids, err
	}
	if id, err := strconv.ParseUint(set.EgressUser, 10, 31); err == nil {
		ids = daemon.IDs{UID: uint32(id), GID: uint32(id)}
	} else {
		u, err := user.Lookup(set.EgressUser)
		if err != nil {
			return ids, fmt.Errorf("egress_user: %w (useradd --system --no-create-home --shell /usr/sbin/nologin %s)", err, set.EgressUser)
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32) // 0 is refused below
		own, _ := strconv.ParseUint(u.Gid, 10, 32)
		ids = daemon.IDs{UID: uint32(uid), GID: uint32(own)}
		groups, err := u.GroupIds()
		if err != nil {
			return ids, err
		}
		for _, g := range groups {
			if g == strconv.Itoa(gid) {
				return ids, fmt.Errorf("egress_user %q is in group %q, which may command the daemon: take it out", set.EgressUser, set.Group)
			}
		}
	}
	if ids.UID == 0 || ids.GID == 0 || ids.GID == uint32(gid) {
		return ids, fmt.Errorf("egress_user %q must be no root and not of group %q", set.EgressUser, set.Group)
	}
	return ids, nil
}

// names looks ids up in the user database.
func names() config.Names {
	find := func(text string, err error) (uint32, bool) {
		if err != nil {
			return 0, false
		}
		id, err := strconv.ParseUint(text, 10, 32)
		return uint32(id), err == nil
	}
	return config.Names{
		User: func(name string) (uint32, bool) {
			u, err := user.Lookup(name)
			if err != nil {
				return find(name, nil)
			}
			return find(u.Uid, nil)
		},
		Group: func(name string) (uint32, bool) {
			g, err := user.LookupGroup(name)
			if err != nil {
				return find(name, nil)
			}
			return find(g.Gid, nil)
		},
	}
}

// unchangeable refuses a reload that would move what live jails stand on.
func unchangeable(old, now *config.Config) error {
	for key, pair := range map[string][2]string{
		"socket": {old.Socket, now.Socket}, "run_dir": {old.RunDir, now.RunDir}, "state_dir": {old.StateDir, now.StateDir},
		"group": {old.Group, now.Group}, "egress_user": {old.EgressUser, now.EgressUser}, "bwrap": {old.Bwrap, now.Bwrap},
		"init": {old.Init, now.Init}, "interception": {old.Interception, now.Interception}, "ready_jails": {strconv.Itoa(old.ReadyJails), strconv.Itoa(now.ReadyJails)}, "audit.file": {old.Audit.File, now.Audit.File},
	} {
		if pair[0] != pair[1] {
			return fmt.Errorf("%s: a change needs a restart: systemctl restart omnijaild", key)
		}
	}
	return nil
}
