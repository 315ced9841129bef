package explicit_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"

	"github.com/elazarl/goproxy"

	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/lab"
	"github.com/omnijail/omnijail/mitm"
)

// site is the one host of these tests. The standard test server has a certificate
// for it too.
const site = "example.com"

// job is one of the two things that the library could do here, as a client of it
// sees them.
type job struct {
	name   string
	client *http.Client // of HTTP/1.1
	http2  *http.Client
	tls    func() net.Conn // a connection to site, inside TLS, to speak HTTP/1.1 by hand
	raw    func() net.Conn // one to what is in front; nil: there is nothing
}

// jobs starts both before one upstream.
func jobs(t testing.TB) (up *lab.Upstream, chain, front job) {
	t.Helper()
	up, err := lab.NewUpstream(t.Context(), lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	return up, chainJob(t, up), frontJob(t, up)
}

func upstreamRoots(up *lab.Upstream) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(up.CA())
	return roots
}

// chainJob is the handlers of the library behind a gate: it gets each request that
// was let in, sends it over a transport of ours and copies the reply. In front is
// the standard server.
func chainJob(t testing.TB, up *lab.Upstream) job {
	way := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, up.HTTPS().String())
		},
		TLSClientConfig: &tls.Config{RootCAs: upstreamRoots(up)}, DisableCompression: true,
		MaxIdleConnsPerHost: 64, ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
	}
	t.Cleanup(way.CloseIdleConnections)
	chain := goproxy.NewProxyHttpServer()
	chain.OnRequest().DoFunc(func(r *http.Request, ctx *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		ctx.RoundTripper = goproxy.RoundTripperFunc(func(r *http.Request, _ *goproxy.ProxyCtx) (*http.Response, error) {
			return way.RoundTrip(r)
		})
		return r, nil
	})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = "https", site
		chain.ServeHTTP(w, r)
	}))
	srv.EnableHTTP2 = true
	srv.Config.MaxHeaderBytes = 64 << 10
	srv.StartTLS()
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	dial := func() net.Conn { return connect(t, srv.Listener.Addr().String()) }
	return job{
		name: "chain", client: client(t, nil, dial, roots, false), http2: client(t, nil, dial, roots, true),
		tls: func() net.Conn { return tls.Client(dial(), &tls.Config{RootCAs: roots, ServerName: site}) },
	}
}

// frontJob is what is built: our proxy's own port.
func frontJob(t testing.TB, up *lab.Upstream) job {
	t.Helper()
	proxy, ca := newProxy(t, up)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go proxy.ServeExplicit(l)
	roots := x509.NewCertPool()
	cert, err := x509.ParseCertificate(ca.DER())
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(cert)
	dial := func() net.Conn { return connect(t, l.Addr().String()) }
	through := http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()})
	return job{
		name: "front", client: client(t, through, dial, roots, false), http2: client(t, through, dial, roots, true), raw: dial,
		tls: func() net.Conn { return tls.Client(tunnel(t, dial()), &tls.Config{RootCAs: roots, ServerName: site}) },
	}
}

func newProxy(t testing.TB, up *lab.Upstream) (*mitm.Proxy, *mitm.CA) {
	t.Helper()
	rule, err := egress.ParseRule("* " + site + "/**")
	if err != nil {
		t.Fatal(err)
	}
	rule.WebSocket = true
	rules, err := egress.Compile([]egress.Rule{rule})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := mitm.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := mitm.New(mitm.Config{
		Jail: "j0123456789abcdef", Names: noNames{}, CA: ca, Audit: noAudit{}, Admit: func(string) error { return nil },
		Policy: mitm.Policy{Rules: rules, Dial: mitm.NewDialer(mitm.Upstream{
			Hosts: map[string]netip.AddrPort{site + ":443": up.HTTPS()}, Roots: upstreamRoots(up),
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	return proxy, ca
}

type noNames struct{}

func (noNames) Name(netip.Addr) (string, bool) { return "", false }

type noAudit struct{}

func (noAudit) Open(context.Context, mitm.Event) (string, error) { return "00000001", nil }
func (noAudit) Done(string, mitm.Event)                          {}

func client(t testing.TB, through func(*http.Request) (*url.URL, error), dial func() net.Conn, roots *x509.CertPool, http2 bool) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	tr := &http.Transport{
		Proxy: through, Protocols: &protocols, TLSClientConfig: &tls.Config{RootCAs: roots}, DisableCompression: true,
		DialContext:         func(context.Context, string, string) (net.Conn, error) { return dial(), nil },
		MaxIdleConnsPerHost: 64, ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
