package mitm

import (
	"net/http"
	"net/netip"

	"github.com/omnijail/omnijail/internal/egress"
)

// session is what all requests of one client connection share.
type session struct {
	p         *Proxy
	scheme    egress.Scheme
	authority egress.Authority
	at        netip.AddrPort // of an explicit client: where it connected, until it names an authority
}

// client is the jail's side of an exchange, in the protocol that it speaks. What
// is judged, recorded and sent does not depend on it. again says whether the
// connection can carry another request behind this one.
type client interface {
	// body is how the transport reads the body of req.
	body(req *http.Request) *body
	// watch calls gone when the client goes away. stop must be called before
	// the connection is read again.
	watch(b *body, gone func()) (stop func())
	// reply passes an upstream's answer on as it comes. n counts body bytes.
	reply(req *http.Request, resp *http.Response) (n uint64, again bool)
	// refuse sends an answer of ours. unread says that there is a body that
	// nobody will read.
	refuse(a answer, req *http.Request, unread bool) (again bool)
	// settle waits for the end of the request's body, nil when it had none.
	settle(b *body) (again bool)
}
