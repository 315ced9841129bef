package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Table is the part of the fences that all processes share. Its methods may be
// called from many goroutines.
type Table struct {
	mu    sync.Mutex
	m     *ebpf.Map
	rules map[key]uint32
}

// key is a word and an address, as the program makes it.
type key [4 + 16]byte

// hooks are where a destination is known before the kernel uses it: connects of
// TCP and UDP, and datagrams without one.
var hooks = []struct {
	at ebpf.AttachType
	v6 bool
}{
	{ebpf.AttachCGroupInet4Connect, false}, {ebpf.AttachCGroupInet6Connect, true},
	{ebpf.AttachCGroupUDP4Sendmsg, false}, {ebpf.AttachCGroupUDP6Sendmsg, true},
}

// NewTable makes a table without rules, which closes nothing. The caller closes it.
func NewTable() (*Table, error) {
	m, err := newTrie("omnijail_table", maxRules)
	if err != nil {
		return nil, err
	}
	return &Table{m: m, rules: map[key]uint32{}}, nil
}

// Set makes rules the table's. What is new holds before what is old goes.
func (t *Table) Set(rules []Rule) error {
	want := make(map[key]uint32, len(rules))
	for _, r := range rules {
		k := prefixKey(r.Prefix)
		want[k] = max(want[k], uint32(r.Verdict))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := update(t.m, t.rules, want); err != nil {
		return fmt.Errorf("fence: set table: %w", err)
	}
	return nil
}

// Close closes the table. Fences that stand keep it.
func (t *Table) Close() error { return t.m.Close() }

// Fence is the exceptions of one cgroup's programs.
type Fence struct {
	mu             sync.Mutex
	pins, openings counted
}

// Enclose attaches the table, without exceptions, to the cgroup v2 directory dir.
// From then on it holds for every socket that a process in there makes. The
// programs stay for as long as the cgroup does, also when the daemon is gone.
func (t *Table) Enclose(dir *os.File) (f *Fence, err error) {
	pins, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "omnijail_pins", Type: ebpf.Hash, KeySize: uint32(len(key{})), ValueSize: 4, MaxEntries: maxPins, Flags: noPrealloc,
	})
	if err != nil {
		return nil, fmt.Errorf("fence: make map: %w", err)
	}
	openings, err := newTrie("omnijail_open", maxOpenings)
	if err != nil {
		pins.Close()
		return nil, err
	}
	f = &Fence{pins: counted{pins, map[key]int{}}, openings: counted{openings, map[key]int{}}}
	for _, h := range hooks {
		if err := f.attach(dir, t.m, h.at, h.v6); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

func (f *Fence) attach(dir *os.File, table *ebpf.Map, at ebpf.AttachType, v6 bool) error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "omnijail_fence", Type: ebpf.CGroupSockAddr, AttachType: at, License: "Apache-2.0",
		Instructions: fenceProgram(v6, f.pins.m.FD(), table.FD(), f.openings.m.FD()),
	})
	if err != nil {
		return fmt.Errorf("fence: load program: %w", err)
	}
	defer prog.Close() // the cgroup holds it
	// Not a link: that would end with this process, and what is fenced in may live on.
	err = link.RawAttachProgram(link.RawAttachProgramOptions{Target: int(dir.Fd()), Program: prog, Attach: at, Flags: allowMulti})
	if err != nil {
		return fmt.Errorf("fence: attach to cgroup: %w", err)
	}
	return nil
}

// Add opens e, beside what is open. What was added twice is to be removed twice.
// After an error nothing has been added.
func (f *Fence) Add(e Exceptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range e.Pins {
		if err := f.pins.add(pinKey(p)); err != nil {
			return errors.Join(notSet(err), f.remove(Exceptions{Pins: e.Pins[:i]}))
		}
	}
	for i, p := range e.Openings {
		if err := f.openings.add(prefixKey(p)); err != nil {
			return errors.Join(notSet(err), f.remove(Exceptions{Pins: e.Pins, Openings: e.Openings[:i]}))
		}
	}
	return nil
}

// Remove takes back what was added. After an error some of it is still open.
func (f *Fence) Remove(e Exceptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remove(e)
}

func (f *Fence) remove(e Exceptions) error {
	var errs []error
	for _, p := range e.Pins {
		errs = append(errs, f.pins.remove(pinKey(p)))
	}
	for _, p := range e.Openings {
		errs = append(errs, f.openings.remove(prefixKey(p)))
	}
	if err := errors.Join(errs...); err != nil {
		return notSet(err)
	}
	return nil
}

func notSet(err error) error { return fmt.Errorf("fence: set exceptions: %w", err) }

// counted is a map of the kernel's with the times that each of its keys was added.
// What a thousand jails need is there once, and the next jail costs no more than
// the first.
type counted struct {
	m     *ebpf.Map
	times map[key]int
}

func (c *counted) add(k key) error {
	if c.times[k] == 0 {
		if err := c.m.Put(k, uint32(1)); err != nil {
			return err
		}
	}
	c.times[k]++
	return nil
}

func (c *counted) remove(k key) error {
	if c.times[k]--; c.times[k] > 0 {
		return nil
	}
	delete(c.times, k)
	return c.m.Delete(k)
}

// Close gives up the way to change the exceptions. The fence stands.
func (f *Fence) Close() error { return errors.Join(f.pins.m.Close(), f.openings.m.Close()) }

// Flags of the kernel's that the library does not name.
const (
	noPrealloc = 1 << 0 // BPF_F_NO_PREALLOC
	allowMulti = 1 << 1 // BPF_F_ALLOW_MULTI
)

func newTrie(name string, entries uint32) (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: name, Type: ebpf.LPMTrie, KeySize: uint32(len(key{})), ValueSize: 4, MaxEntries: entries, Flags: noPrealloc,
	})
	if err != nil {
		return nil, fmt.Errorf("fence: make map: %w", err)
	}
	return m, nil
}

// update makes m hold want, and have say so.
func update(m *ebpf.Map, have, want map[key]uint32) error {
	for k, v := range want {
		if old, ok := have[k]; ok && old == v {
			continue
		}
		if err := m.Put(k, v); err != nil {
			return err
		}
		have[k] = v
	}
	for k := range have {
		if _, ok := want[k]; ok {
			continue
		}
		if err := m.Delete(k); err != nil {
			return err
		}
		delete(have, k)
	}
	return nil
}

func prefixKey(p netip.Prefix) (k key) {
	binary.NativeEndian.PutUint32(k[:4], uint32(p.Bits()))
	a := p.Masked().Addr().As16()
	copy(k[4:], a[:])
	return k
}

func pinKey(p netip.AddrPort) (k key) {
	var port [2]byte
	binary.BigEndian.PutUint16(port[:], p.Port())
	binary.NativeEndian.PutUint32(k[:4], uint32(binary.NativeEndian.Uint16(port[:])))
	a := p.Addr().As16()
	copy(k[4:], a[:])
	return k
}
