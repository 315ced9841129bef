package mitm

import (
	"container/list"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/egress"
)

const (
	leafLife  = 24 * time.Hour
	leafTTL   = 12 * time.Hour // a cached leaf is replaced long before a client sees it expire
	leafCache = 256            // leaves kept per jail
)

// mint signs a leaf for exactly one name or address.
func (c *CA) mint(a egress.Authority, now time.Time) (*tls.Certificate, error) {
	tmpl := &x509.Certificate{
		SerialNumber: newSerial(),
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip, ok := a.Addr(); ok {
		tmpl.IPAddresses = []net.IP{ip.AsSlice()}
	} else {
		tmpl.DNSNames = []string{a.Host()}
	}
	// Old clients dislike an empty subject; a common name is at most 64 bytes.
	tmpl.Subject = pkix.Name{CommonName: "omnijail"}
	if len(a.Host()) <= 64 {
		tmpl.Subject.CommonName = a.Host()
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, c.cert, &c.leafKey.PublicKey, c.key)
	if err != nil {
		return nil, fmt.Errorf("certificate for %s: %w", a, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: c.leafKey}, nil
}

// leaves caches a TLS configuration per authority. Each has session tickets of
// its own, so that a session of one authority cannot be resumed at another.
type leaves struct {
	ca          *CA
	now         func() time.Time
	preferHTTP2 func(egress.Authority) bool

	mu     sync.Mutex
	byAuth map[egress.Authority]*list.Element // of *leaf
	order  *list.List                         // most recently used first
}

type leaf struct {
	authority egress.Authority
	config    *tls.Config
	made      time.Time
}

func newLeaves(ca *CA, preferHTTP2 func(egress.Authority) bool) *leaves {
	return &leaves{ca: ca, now: time.Now, preferHTTP2: preferHTTP2, byAuth: map[egress.Authority]*list.Element{}, order: list.New()}
}

// config returns the TLS configuration for connections to a.
func (l *leaves) config(a egress.Authority) (*tls.Config, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now().Round(0) // by the wall, as clients judge it: a machine that sleeps counts no time else
	if e, ok := l.byAuth[a]; ok {
		if age := now.Sub(e.Value.(*leaf).made); age < leafTTL && age > -clockSkew {
			l.order.MoveToFront(e)
			return e.Value.(*leaf).config, nil
		}
		l.remove(e)
	}
	cert, err := l.ca.mint(a, now)
	if err != nil {
		return nil, err
	}
	lf := &leaf{authority: a, config: serverConfig(a, cert, l.preferHTTP2(a)), made: now}
	l.byAuth[a] = l.order.PushFront(lf)
	if l.order.Len() > leafCache {
		l.remove(l.order.Back())
	}
	return lf.config, nil
}

// forget drops what was made: the protocols of new connections are chosen anew.
func (l *leaves) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.byAuth)
	l.order.Init()
}

func (l *leaves) remove(e *list.Element) {
	delete(l.byAuth, e.Value.(*leaf).authority)
	l.order.Remove(e)
}
