package mitm

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
)

// rig is a Proxy between a test's client and upstreams on loopback. Only the
// addresses are made up: the jail's listeners say that they stand at synthetic
// ones, and the upstreams are pinned.
type rig struct {
	t        testing.TB
	proxy    *Proxy
	ca       *CA
	table    *creds.Table
	audit    *recorder
	upstream *Upstream
	names    *fakeNames
	next     byte
	heard    *transcript // what the jail's clients read, where a lab wants it
}

// fakeNames is the jail's DNS map.
type fakeNames struct{ known sync.Map }

func (n *fakeNames) Name(a netip.Addr) (string, bool) {
	s, ok := n.known.Load(a)
	name, _ := s.(string)
	return name, ok
}

func (n *fakeNames) set(a netip.Addr, name string) { n.known.Store(a, name) }

// recorder is an auditor that remembers, and refuses when told to.
type recorder struct {
	mu     sync.Mutex
	opened []Event
	ended  []Event
	fail   error
	wake   chan struct{}
}

func (r *recorder) Open(_ context.Context, e Event) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return "", r.fail
	}
	r.opened = append(r.opened, e)
	r.notify()
	return fmt.Sprintf("%08x", len(r.opened)), nil
}

func (r *recorder) Done(_ string, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = append(r.ended, e)
	r.notify()
}

func (r *recorder) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// await waits until an event fits; the deadline only bounds a hang.
func (r *recorder) await(t testing.TB, list func(*recorder) []Event, fits func(Event) bool) Event {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		all := append([]Event(nil), list(r)...)
		r.mu.Unlock()
		for _, e := range all {
			if fits(e) {
				return e
			}
		}
		select {
		case <-r.wake:
		case <-limit:
			t.Fatalf("the event did not come; there are %+v", all)
		}
	}
}

func opened(r *recorder) []Event { return r.opened }
func ended(r *recorder) []Event  { return r.ended }

// options change a rig before its Proxy is made.
type options struct {
	rules    []string
	bindings []creds.Binding
	config   func(*Config)
	up       func(*Upstream)
}

var testAuthority = sync.OnceValue(func() *CA {
	ca, err := NewCA()
	if err != nil {
		panic(err)
	}
	return ca
})

func newRig(t testing.TB, o options) *rig {
	t.Helper()
	ca, err := NewCA()
	if err != nil {
		t.Fatal(err)
	}
	var parsed []egress.Rule
	for _, s := range o.rules {
		r, err := egress.ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, r)
	}
	rules, err := egress.Compile(parsed)
	if err != nil {
		t.Fatal(err)
	}
	table, err := creds.NewTable(o.bindings)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(testAuthority().cert)
	r := &rig{
		t: t, ca: ca, table: table, names: &fakeNames{},
		audit:    &recorder{wake: make(chan struct{}, 1)},
		upstream: &Upstream{Hosts: map[string]netip.AddrPort{}, Roots: roots},
	}
	if o.up != nil {
		o.up(r.upstream)
	}
	cfg := Config{
		Jail: "j0123456789abcdef", Names: r.names, CA: ca, Audit: r.audit,
		Policy: Policy{Rules: rules, Table: table, Dial: NewDialer(*r.upstream)},
	}
	if o.config != nil {
		o.config(&cfg)
	}
	if r.proxy, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.proxy.Close() })
	return r
}

// serve gives an authority an upstream and the jail an address for it. It
// returns where the jail's client must connect.
func (r *rig) serve(authority string, h http.Handler) string {
	r.t.Helper()
	return r.at(authority, r.upstreamFor(authority, h))
}

// upstreamFor starts an upstream that has a certificate for authority.
func (r *rig) upstreamFor(authority string, h http.Handler) string {
	r.t.Helper()
	return r.start(authority, httptest.NewUnstartedServer(h))
}

// start starts an upstream that was prepared.
func (r *rig) start(authority string, srv *httptest.Server) string {
	r.t.Helper()
	r.t.Cleanup(srv.Close)
	a := mustAuthority(r.t, authority)
	if a.Port() == 80 {
		srv.Start()
	} else {
		cert, err := testAuthority().mint(a, time.Now())
		if err != nil {
			r.t.Fatal(err)
		}
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
		srv.StartTLS()
	}
	return srv.Listener.Addr().String()
}

// at pins authority to an upstream address and opens the jail's side of it.
func (r *rig) at(authority, upstream string) string {
	r.t.Helper()
	r.upstream.Hosts[authority] = netip.MustParseAddrPort(upstream)
	return r.open(authority)
}

// open is the jail's side of an authority: a listener that says it stands at a
// synthetic address for a name, or at the address itself.
func (r *rig) open(authority string) string {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.openOn(l, authority)
	return l.Addr().String()
}

// openOn does it on a listener that is there.
func (r *rig) openOn(l net.Listener, authority string) {
	r.t.Helper()
	a := mustAuthority(r.t, authority)
	ip, ok := a.Addr()
	if !ok {
		r.next++
		ip = netip.AddrFrom4([4]byte{198, 18, 0, r.next})
		r.names.set(ip, a.Host())
	}
	go r.proxy.Serve(movedListener{l, netip.AddrPortFrom(ip, a.Port())})
}

// movedListener says that its connections were meant for another address.
type movedListener struct {
	net.Listener
	to netip.AddrPort
}

func (l movedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return movedConn{c.(*net.TCPConn), l.to}, nil
}

type movedConn struct {
	*net.TCPConn
	to netip.AddrPort
}

func (c movedConn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.to) }

func mustAuthority(t testing.TB, s string) egress.Authority {
	t.Helper()
	a, err := egress.ParseAuthority(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// jailRoots trusts the jail's CA and nothing else.
func (r *rig) jailRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(r.ca.cert)
	return pool
}

// caFile is the jail's CA for command line clients.
func (r *rig) caFile() string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.ca.DER()}), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// client is a jailed HTTP client for one authority.
func (r *rig) client(addr string) *http.Client {
	tr := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
		TLSClientConfig:       &tls.Config{RootCAs: r.jailRoots()},
		DisableCompression:    true,
		ExpectContinueTimeout: 20 * time.Second,
		MaxIdleConnsPerHost:   64,
		WriteBufferSize:       streamBuffer,
		ReadBufferSize:        streamBuffer,
	}
	r.t.Cleanup(tr.CloseIdleConnections)
	c := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if r.heard != nil {
		c.Transport = &listening{tr, r.heard}
	}
	return c
}

// transportOf is what a client of a rig changes.
func transportOf(c *http.Client) *http.Transport {
	if l, ok := c.Transport.(*listening); ok {
		return l.Transport
	}
	return c.Transport.(*http.Transport)
}

// dialTLS is a jailed client that speaks by hand.
func (r *rig) dialTLS(addr, sni string) *tls.Conn {
	r.t.Helper()
	c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: r.jailRoots(), ServerName: sni})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
	return c
}

// say sends raw bytes and reads one reply.
func (r *rig) say(c net.Conn, raw string) (*http.Response, string) {
	r.t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		r.t.Fatal(err)
	}
	resp, body := readReply(r.t, bufio.NewReader(c), nil)
	if r.heard != nil {
		fmt.Fprintln(r.heard, resp.Status, resp.Header, body, resp.Trailer)
	}
	return resp, body
}

func readReply(t testing.TB, br *bufio.Reader, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(br, req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// seen is an upstream that remembers the requests it got.
type seen struct {
	mu    sync.Mutex
	heads []*http.Request
	then  http.HandlerFunc
}

func (s *seen) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	s.heads = append(s.heads, req.Clone(context.Background()))
	then := s.then
	s.mu.Unlock()
	if then != nil {
		then(w, req)
	}
}

func (s *seen) all() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.heads...)
}

// strangeCert is a certificate that the rig's upstream roots do not know.
func strangeCert(t testing.TB, name string, notAfter time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name},
		NotBefore: notAfter.Add(-48 * time.Hour), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (r *recorder) all() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.opened...)
}

// withRules gives a rig rules that the string form cannot say.
func withRules(rules []egress.Rule) func(*Config) {
	return func(c *Config) {
		compiled, err := egress.Compile(rules)
		if err != nil {
			panic(err)
		}
		c.Rules = compiled
	}
}

func mustRules(t testing.TB, text ...string) []egress.Rule {
	t.Helper()
	var out []egress.Rule
	for _, s := range text {
		r, err := egress.ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}
