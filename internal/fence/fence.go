package fence

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"

	"github.com/omnijail/omnijail/internal/guard"
	"github.com/omnijail/omnijail/netns/bpf"
)

// Exceptions are what one jail opens to its egress process.
type Exceptions struct {
	Pins    []netip.AddrPort // upstream.hosts and upstream.proxy
	Private []netip.Prefix   // of allow_private and egress.private
	All     bool             // every private address, by the weakening private_destinations
}

// Fence holds what all walls share. Its methods may be called from many goroutines.
type Fence struct {
	table *bpf.Table

	mu        sync.Mutex
	resolvers []netip.AddrPort
	walls     map[*Wall]bool
}

// New returns a Fence that knows the node's addresses as they are now. An error
// says what the kernel lacks. The caller closes it.
func New(resolvers []netip.AddrPort) (*Fence, error) {
	table, err := bpf.NewTable()
	if err != nil {
		return nil, err
	}
	f := &Fence{table: table, walls: map[*Wall]bool{}}
	if err := f.Refresh(resolvers); err != nil {
		table.Close()
		return nil, err
	}
	return f, nil
}

// Refresh brings the node's addresses and its resolvers up to date, in every wall.
func (f *Fence) Refresh(resolvers []netip.AddrPort) error {
	own, err := guard.NodeAddrs()
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.table.Set(rules(own)); err != nil {
		return err
	}
	if slices.Equal(resolvers, f.resolvers) {
		return nil
	}
	f.resolvers = slices.Clone(resolvers)
	for w := range f.walls {
		if err := w.follow(); err != nil {
			return err
		}
	}
	return nil
}

// Close gives the fence up. The walls that stand keep what they were told last.
func (f *Fence) Close() error { return f.table.Close() }

var verdicts = map[guard.Class]bpf.Verdict{
	guard.Public: bpf.Open, guard.Private: bpf.Private, guard.Own: bpf.Never, guard.Metadata: bpf.Never,
}

func rules(own []netip.Addr) []bpf.Rule {
	var list []bpf.Rule
	for _, e := range guard.Entries(own) {
		list = append(list, bpf.Rule{Prefix: e.Prefix, Verdict: verdicts[e.Class]})
	}
	return list
}

// Wall is the fence around the processes of one cgroup. A nil Wall is that of a
// node without a fence: its methods do nothing.
type Wall struct {
	fence     *Fence
	bpf       *bpf.Fence
	resolvers bpf.Exceptions            // that are open in it
	jails     map[string]bpf.Exceptions // what is open for each
}

// Enclose builds a wall around the cgroup v2 directory dir, before anything is
// started in it. The wall stands until the cgroup is removed; Close it when what
// it is around is gone.
func (f *Fence) Enclose(dir *os.File) (*Wall, error) {
	inner, err := f.table.Enclose(dir)
	if err != nil {
		return nil, err
	}
	w := &Wall{fence: f, bpf: inner, jails: map[string]bpf.Exceptions{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := w.follow(); err != nil {
		inner.Close()
		return nil, err
	}
	f.walls[w] = true
	return w, nil
}

// Admit opens what a jail needs, before the jail is handed to the process, in
// place of what it needed so far.
func (w *Wall) Admit(jail string, e Exceptions) error {
	if w == nil {
		return nil
	}
	w.fence.mu.Lock()
	defer w.fence.mu.Unlock()
	open := lowered(e)
	if err := w.bpf.Add(open); err != nil {
		return err
	}
	former := w.jails[jail]
	w.jails[jail] = open
	return w.bpf.Remove(former)
}

// Dismiss closes what no other jail needs.
func (w *Wall) Dismiss(jail string) error {
	if w == nil {
		return nil
	}
	w.fence.mu.Lock()
	defer w.fence.mu.Unlock()
	former := w.jails[jail]
	delete(w.jails, jail)
	return w.bpf.Remove(former)
}

// Close gives up the way to change the wall.
func (w *Wall) Close() error {
	if w == nil {
		return nil
	}
	w.fence.mu.Lock()
	defer w.fence.mu.Unlock()
	delete(w.fence.walls, w)
	return w.bpf.Close()
}

// follow opens the fence's resolvers in place of those that were open. It is called
// with the fence's lock.
func (w *Wall) follow() error {
	now := bpf.Exceptions{Pins: w.fence.resolvers}
	if err := w.bpf.Add(now); err != nil {
		return err
	}
	former := w.resolvers
	w.resolvers = now
	return w.bpf.Remove(former)
}

// lowered is e in the kernel's terms.
func lowered(e Exceptions) bpf.Exceptions {
	open := bpf.Exceptions{Pins: e.Pins}
	for _, p := range e.Private {
		open.Openings = append(open.Openings, guard.Wide(p)...)
	}
	if e.All {
		open.Openings = append(open.Openings, everything)
	}
	return open
}

var everything = netip.MustParsePrefix("::/0")
