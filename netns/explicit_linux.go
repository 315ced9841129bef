package netns

import (
	"net/netip"
	"os"
)

// OpenProxy makes the listeners of the proxy's own port and adds them to the
// Sockets. It is called before anything runs in the namespace, so that no program
// of a jail's can be there first.
func (n *Net) OpenProxy() error {
	var v4, v6 *os.File
	err := n.inside(func() (err error) {
		if v4, err = listenLoopback(loopback4, ProxyPort); err != nil {
			return err
		}
		if n.socks.TCP6 != nil {
			v6, err = listenLoopback(netip.IPv6Loopback(), ProxyPort)
		}
		return err
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.socks.Proxy4, n.socks.Proxy6 = v4, v6
	return err
}
