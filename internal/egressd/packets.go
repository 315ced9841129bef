package egressd

import (
	"context"
	"net/netip"
	"os"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/netns/dnsstub"
	"github.com/omnijail/omnijail/netns/observe"
)

// watchPackets records the packets of a jail that the kernel refused, until ctx
// ends and what the socket held by then has been sent; then told is closed. It takes
// the socket over. A name that the packet was for is said instead of its address.
func (a *auditor) watchPackets(ctx context.Context, socket *os.File, names *dnsstub.Names) (told <-chan struct{}) {
	read, done := context.WithCancel(context.Background())
	seen := a.watch(read)
	go func() {
		defer done()
		defer socket.Close()
		observe.Serve(ctx, socket, func(at observe.Attempt) {
			seen.tell(notice{kind: audit.KindPacket, code: audit.CodePacket, method: at.Protocol, name: where(at.To, names)})
		})
	}()
	return seen.told
}

// where is a destination as people know it: with the name that the jail looked up,
// and with a port where there is one.
func where(to netip.AddrPort, names *dnsstub.Names) string {
	name, ok := names.Name(to.Addr())
	switch {
	case !ok && to.Port() == 0:
		return to.Addr().String()
	case !ok:
		return to.String()
	case to.Port() == 0:
		return name
	}
	a, err := egress.AuthorityFrom(name, to.Port())
	if err != nil {
		return to.String()
	}
	return a.String()
}
