package bpf

import (
	"fmt"
	"io"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Steer attaches the program to the namespace ns, whose listeners are tcp: the one
// of IPv4 and, unless the kernel has no IPv6, that of IPv6. Steering ends when the
// result is closed or no longer referenced, and lookups for connections fail
// as soon as the listener itself is closed by its last holder.
func Steer(ns *os.File, tcp []*os.File) (io.Closer, error) {
	socks, err := listeners(tcp)
	if err != nil {
		return nil, err
	}
	defer socks.Close() // the program holds it
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:         "omnijail_steer",
		Type:         ebpf.SkLookup,
		AttachType:   ebpf.AttachSkLookup,
		License:      "Apache-2.0",
		Instructions: program(socks.FD()),
	})
	if err != nil {
		return nil, fmt.Errorf("load sk_lookup program: %w", err)
	}
	defer prog.Close() // the link holds it
	l, err := link.AttachNetNs(int(ns.Fd()), prog)
	if err != nil {
		return nil, fmt.Errorf("attach sk_lookup program: %w", err)
	}
	return l, nil
}

// listeners makes the map from family to listener.
func listeners(tcp []*os.File) (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "omnijail_listen", Type: ebpf.SockMap, KeySize: 4, ValueSize: 8, MaxEntries: families,
	})
	if err != nil {
		return nil, fmt.Errorf("make sockmap: %w", err)
	}
	for key, f := range tcp { // in the order of the keys
		if err := m.Put(uint32(key), uint64(f.Fd())); err != nil {
			m.Close()
			return nil, fmt.Errorf("put listener into sockmap: %w", err)
		}
	}
	return m, nil
}
