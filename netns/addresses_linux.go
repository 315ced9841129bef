package netns

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// AddressChanges tells when an address of the calling namespace's came or went,
// until done is closed. Several changes may be told once.
func AddressChanges(done <-chan struct{}) (<-chan struct{}, error) {
	updates := make(chan netlink.AddrUpdate)
	if err := netlink.AddrSubscribe(updates, done); err != nil {
		return nil, fmt.Errorf("watch this node's addresses: %w", err)
	}
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		for range updates {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed, nil
}
