package daemon

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caches"
	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/fence"
	"github.com/omnijail/omnijail/internal/idle"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/mountwatch"
	"github.com/omnijail/omnijail/internal/peercred"
	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/netns"
)

// Config is what a Manager joins. All fields but Fence are required.
type Config struct {
	Settings  func() *config.Config
	Journal   *audit.Journal
	Networks  *netns.Pool
	Spawner   *spawn.Pool
	Cgroups   *cgroup.Instance
	Caches    *caches.Store
	Backends  map[string]jail.Backend
	Init      *os.File // omnijail-init in a sealed memfd
	Self      *os.File // this program, for the egress processes
	StageDir  string   // empty root-owned directory that each start mounts its stage on
	SharedDir string   // root-owned directory for what all jails have; empty at start
	Egress    IDs      // of the egress user
	Facts     func() policy.Facts
	Doctor    func() api.Doctor
	Log       *slog.Logger
	Fence     *fence.Fence // around egress processes; nil where the node can have none
}

// IDs are a user and a group.
type IDs struct{ UID, GID uint32 }

// Manager is the table of live jails and egress processes of one daemon.
type Manager struct {
	cfg     Config
	auditor *auditor
	metrics *metrics

	mu       sync.Mutex
	jails    map[jail.ID]*liveJail
	perUID   map[uint32]int
	procs    map[egressKey]*egressProc // that take new jails
	alive    map[*egressProc]bool      // these and the retired ones
	starting map[egressKey]*sync.Mutex
	failures map[egressKey][]time.Time
	draining bool
	closing  bool
	empty    *sync.Cond // when the last jail is gone
	node     *etc
	crowded  crowded
	ports    portTable
	epoch    uint64               // how often the configuration has changed
	still    func(Holding) string // the last change's judgement; nil before the first

	prepared *stock[*root]
	ready    *stock[*readyJail]
	usual    atomic.Pointer[jail.Spec] // what the next jail that waits is made after
	scouts   *stock[*scout]
	lasting  *lasting[*scout]
	mounts   *mountwatch.Watcher
	scoutNo  atomic.Uint64
	caches   *cacheKeeper
	memory   *idle.Memory
	leaving  sync.WaitGroup // what is taken apart later
	closed   chan struct{}  // closed by Close
}

// New returns a Manager without jails. Close ends it.
func New(cfg Config) (*Manager, error) {
	node, err := readEtc(cfg.SharedDir)
	if err != nil {
		return nil, err
	}
	mounts, err := mountwatch.New()
	if err != nil {
		return nil, err
	}
	m := &Manager{
		mounts: mounts,
		cfg:    cfg, auditor: newAuditor(cfg.Journal, cfg.Log), metrics: newMetrics(), node: node,
		jails: map[jail.ID]*liveJail{}, perUID: map[uint32]int{}, procs: map[egressKey]*egressProc{},
		alive: map[*egressProc]bool{}, starting: map[egressKey]*sync.Mutex{}, failures: map[egressKey][]time.Time{},
		memory: idle.New(), closed: make(chan struct{}), lasting: &lasting[*scout]{time: lastingTime},
	}
	if cfg.Fence != nil {
		if err := m.tend(m.closed); err != nil {
			mounts.Close()
			m.memory.Close()
			m.auditor.close()
			return nil, err
		}
	}
	m.empty = sync.NewCond(&m.mu)
	m.prepared = m.newRoots()
	m.scouts = newStock(readyScouts, m.newScout)
	m.usual.Store(policy.Usual(cfg.Facts()))
	m.ready = newStock(cfg.Settings().ReadyJails, m.newReady)
	m.metrics.depths(cfg.Networks.Ready, m.ready.depth, m.auditor.waiting)
	m.caches = newCacheKeeper(m)
	if _, err := mounts.Own(m.sift); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Journal is the audit journal, for its readers.
func (m *Manager) Journal() *audit.Journal { return m.cfg.Journal }

// Facts is what Compile needs to know of this node.
func (m *Manager) Facts() policy.Facts { return m.cfg.Facts() }

// Doctor says what this node enforces.
func (m *Manager) Doctor() api.Doctor { return m.cfg.Doctor() }

// RefusesPeer refuses callers that come from inside: the egress user, and any
// process in a jail's cgroup.
func (m *Manager) RefusesPeer(c peercred.Caller) *api.Error {
	if c.UID() == m.cfg.Egress.UID {
		return api.Refuse(http.StatusForbidden, "peer_egress", "an egress process may not command the daemon")
	}
	inside, err := peercred.InCgroup(c, m.cfg.Cgroups.Contains)
	if err != nil || inside {
		return api.Refuse(http.StatusForbidden, "peer_jailed", "a process in a jail may not command the daemon")
	}
	return nil
}

// Plan is one exec that was decided and not yet started.
type Plan struct {
	Caller    peercred.Caller
	Epoch     uint64 // Manager.Epoch before the configuration was read that decided it
	Confined  bool   // the caller is, more than the daemon
	MaxJails  int
	MaxCache  int64 // bytes of all caches of the caller's
	User      jail.User
	Document  *policy.Document // as it was named, without what the request added
	Request   policy.Request
	Spec      *jail.Spec
	Argv      [][]byte
	Cwd       string
	Context   map[string]string
	SecretFDs []string
	TTY       *api.Size
}

// Ticket is a Plan's place in the table. It must be released.
type Ticket struct {
	m    *Manager
	uid  uint32
	plan *Plan
	once sync.Once
}

// Admit gives a Plan its place, or refuses it: draining, or too many of this
// caller's.
func (m *Manager) Admit(p *Plan) (*Ticket, *api.Error) {
	t, refused := m.admit(p.Caller.UID(), p.MaxJails)
	if refused == nil {
		t.plan = p
	}
	return t, refused
}

func (m *Manager) admit(uid uint32, most int) (*Ticket, *api.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.draining {
		return nil, api.Refuse(http.StatusServiceUnavailable, "draining", "this node is draining: no new jail is started")
	}
	if n := m.perUID[uid]; n >= most {
		return nil, api.Refuse(http.StatusTooManyRequests, "too_many_jails", "you have %d jails, which is your limit", n).
			Hint("omnijailctl ls, then omnijailctl rm ID")
	}
	m.perUID[uid]++
	return &Ticket{m: m, uid: uid}, nil
}

// Release gives the place back. It may be called again.
func (t *Ticket) Release() { t.once.Do(func() { t.m.release(t.uid) }) }

func (m *Manager) release(uid uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.perUID[uid]--; m.perUID[uid] <= 0 {
		delete(m.perUID, uid)
	}
	if len(m.perUID) == 0 {
		m.empty.Broadcast()
	}
}

// Drain refuses new jails and waits until the running ones have ended, ctx is
// done or timeout has passed (0: no timeout). It returns how many still run.
func (m *Manager) Drain(ctx context.Context, timeout time.Duration) int {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.empty.Broadcast()
	})
	defer stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draining = true
	for len(m.perUID) > 0 && ctx.Err() == nil {
		m.empty.Wait()
	}
	left := 0
	for _, n := range m.perUID {
		left += n
	}
	return left
}

// Close ends every jail and egress process and waits for them. The journal
// stays open; it is the caller's.
func (m *Manager) Close() {
	m.mu.Lock()
	m.draining, m.closing = true, true
	jails := slices.Collect(maps.Values(m.jails))
	m.mu.Unlock()
	for _, j := range jails {
		j.end(stopping)
	}
	m.Drain(context.Background(), 0)
	m.mu.Lock()
	procs := slices.Collect(maps.Keys(m.alive))
	m.mu.Unlock()
	for _, p := range procs {
		p.end(nil)
		<-p.dead
	}
	m.leaving.Wait()
	close(m.closed)
	m.auditor.close()
	m.ready.close()
	m.prepared.close()
	m.scouts.close()
	m.lasting.close()
	m.mounts.Close()
	m.caches.close()
	m.memory.Close()
}

const stopping = "omnijaild is stopping"

// View is what one caller may see and end: their own. Root sees all.
type View struct {
	m   *Manager
	uid uint32
	may func(*jail.Spec) bool // which of these; nil for all
}

// View returns the table as uid sees it. It is the one place that filters.
func (m *Manager) View(uid uint32) View { return View{m: m, uid: uid} }

// Only returns the part of v whose jails a caller may use: one that is confined
// must not get through a jail at what it could not ask for itself.
func (v View) Only(may func(*jail.Spec) bool) View {
	v.may = may
	return v
}

func (v View) mine(j *liveJail) bool {
	return (v.uid == 0 || j.owner == v.uid) && (v.may == nil || v.may(j.spec()))
}

// Jails lists live jails.
func (v View) Jails() []api.Jail {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	out := []api.Jail{}
	for _, j := range v.m.jails {
		if v.mine(j) {
			out = append(out, j.describe())
		}
	}
	return out
}

// Jail returns one live jail.
func (v View) Jail(id jail.ID) (api.Jail, bool) {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	if j := v.m.jails[id]; j != nil && v.mine(j) {
		return j.describe(), true
	}
	return api.Jail{}, false
}

func (v View) find(id jail.ID) *liveJail {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	if j := v.m.jails[id]; j != nil && v.mine(j) {
		return j
	}
	return nil
}

// End ends one live jail and reports whether there was one. The channel is closed
// when nothing of the jail is left.
func (v View) End(id jail.ID) (gone <-chan struct{}, ok bool) {
	j := v.find(id)
	if j == nil {
		return nil, false
	}
	j.end("ended by omnijailctl rm")
	return j.gone, true
}
