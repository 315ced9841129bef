package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/egressd/cage"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// A process that keeps dying is not started for ever: maxStarts in startWindow
// for one key, then execs are refused until the window has passed.
const (
	maxStarts   = 5
	startWindow = 10 * time.Minute
)

// Limits of an egress process where the node can hold them.
const (
	egressMemory = 2 << 30
	egressPids   = 256
)

var errEgressFailing = fmt.Errorf("the egress process ended %d times within %v: see the daemon's log", maxStarts, startWindow)

// egressFor returns the live egress process of key with j enlisted, starting the
// process if need be.
func (m *Manager) egressFor(ctx context.Context, key egressKey, j *liveJail) (*egressProc, error) {
	m.mu.Lock()
	turn := m.starting[key]
	if turn == nil {
		turn = &sync.Mutex{}
		m.starting[key] = turn
	}
	m.mu.Unlock()
	turn.Lock()
	defer turn.Unlock()

	m.mu.Lock()
	p := m.procs[key]
	m.mu.Unlock()
	if p != nil && p.enlist(j) {
		return p, nil
	}
	if err := m.countStart(key); err != nil {
		return nil, err
	}
	p, err := m.startEgress(ctx, key)
	if err != nil {
		return nil, err
	}
	if !p.enlist(j) {
		return nil, errEgressGone
	}
	return p, nil
}

// countStart refuses a start beyond the window's number. Only starts after a
// death count: a process that ended for want of jails is no failure.
func (m *Manager) countStart(key egressKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var recent []time.Time
	for _, t := range m.failures[key] {
		if time.Since(t) < startWindow {
			recent = append(recent, t)
		}
	}
	m.failures[key] = recent
	if len(recent) >= maxStarts {
		return errEgressFailing
	}
	return nil
}

func (m *Manager) startEgress(ctx context.Context, key egressKey) (*egressProc, error) {
	group, err := m.cfg.Cgroups.New(fmt.Sprintf("egress-%d-%d-%d-%d", key.Caller, key.RunAs, key.Policy, time.Now().UnixNano()))
	if err != nil {
		return nil, err
	}
	// Without a controller the cage holds all the same; doctor says that its
	// memory is not bounded.
	if err := group.SetLimits(cgroup.Limits{Memory: egressMemory, Pids: egressPids}); err != nil && !errors.Is(err, cgroup.ErrNoController) {
		group.Remove()
		return nil, err
	}
	wall, err := m.enclose(group)
	if err != nil {
		group.Remove()
		return nil, fmt.Errorf("start egress process: %w", err)
	}
	cmd, conn, err := m.spawnEgress(group)
	if err != nil {
		wall.Close()
		group.Remove()
		return nil, fmt.Errorf("start egress process: %w", err)
	}
	p := newEgressProc(key, conn, wall, func() { group.Kill() })
	m.mu.Lock()
	m.alive[p] = true
	m.metrics.egress.Set(float64(len(m.alive)))
	m.mu.Unlock()
	go p.read(m)
	go m.reapEgress(p, cmd, group)

	if err := m.tell(ctx, p); err != nil {
		p.end(err)
		return nil, fmt.Errorf("start egress process: %w", err)
	}
	m.mu.Lock()
	m.procs[key] = p
	m.mu.Unlock()
	return p, nil
}

func (m *Manager) spawnEgress(group *cgroup.Group) (*exec.Cmd, *wire.Conn, error) {
	ours, theirs, err := wire.Pair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	conn, err := wire.NewConn(ours)
	if err != nil {
		return nil, nil, err
	}
	cmd := cage.Command(cage.Params{
		Init: m.cfg.Init, Exe: m.cfg.Self, Socket: theirs,
		UID: m.cfg.Egress.UID, GID: m.cfg.Egress.GID,
	})
	if err := group.Start(cmd); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return cmd, conn, nil
}

// reapEgress waits for the process and removes what it leaves.
func (m *Manager) reapEgress(p *egressProc, cmd *exec.Cmd, group *cgroup.Group) {
	err := cmd.Wait()
	p.end(errEgressGone) // even if somebody still holds its end of the socket
	<-p.dead
	p.mu.Lock()
	why := p.why
	p.mu.Unlock()
	m.mu.Lock()
	delete(m.alive, p)
	m.metrics.egress.Set(float64(len(m.alive)))
	if m.procs[p.key] == p {
		delete(m.procs, p.key)
	}
	if why != nil {
		m.failures[p.key] = append(m.failures[p.key], time.Now())
		m.metrics.egressDied.Inc()
	}
	m.mu.Unlock()
	if why != nil {
		m.cfg.Log.Error("egress process ended", "uid", p.key.Caller, "why", why, "state", err)
	}
	group.Kill()
	p.wall.Close()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if err := errors.Join(group.WaitEmpty(ctx), group.Remove()); err != nil {
		m.cfg.Log.Error("egress cgroup not removed", "err", err)
	}
}

// tell says hello to a process that has just started.
func (m *Manager) tell(ctx context.Context, p *egressProc) error {
	set := m.cfg.Settings()
	file, err := m.egressConfig(set)
	if err != nil {
		return err
	}
	defer file.Close()
	login, err := openLogin(set.Upstream.ProxyLogin)
	if err != nil {
		return fmt.Errorf("upstream.proxy_login: %w", err)
	}
	defer login.Close() // which may be nil
	return p.hello(ctx, file, login)
}

// openLogin opens the file with the proxy's login for the egress process to read.
// It returns nil where no file is named.
func openLogin(name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	if err := config.RootOwned(name); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && (!fi.Mode().IsRegular() || fi.Mode()&0o077 != 0) {
		err = fmt.Errorf("%s must be a file that root alone may read: chmod 600 %s", name, name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// egressConfig is what every egress process is told: roots as bytes, the
// operator's exemptions, the resolver. It holds nothing of a user.
func (m *Manager) egressConfig(set *config.Config) (*os.File, error) {
	c := wire.Config{Roots: m.roots(set), Memory: egressMemory}
	for _, p := range set.Egress.Private {
		c.Private = append(c.Private, wire.Exemption{Host: p.Host, Prefix: p.CIDR})
	}
	if err := errors.Join(c.Resolver.UnmarshalText([]byte(set.Upstream.DNS)), c.Proxy.UnmarshalText([]byte(set.Upstream.Proxy))); err != nil {
		return nil, err
	}
	return wire.Seal("egress-config", c)
}

// roots are the node's and the operator's. A file that cannot be read is left
// out and said: fewer roots refuse more.
func (m *Manager) roots(set *config.Config) []byte {
	m.mu.Lock()
	roots := bytes.Clone(m.node.Roots())
	m.mu.Unlock()
	for _, name := range set.Upstream.CAFiles {
		b, err := os.ReadFile(name)
		if err != nil {
			m.cfg.Log.Error("upstream.ca_files: not read", "file", name, "err", err)
			continue
		}
		roots = append(append(roots, '\n'), b...)
	}
	return roots
}
