package mitm

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
)

// The benchmarks run three ways in turns, so that what else the machine does
// meets all alike: through the Proxy with rules and a credential, through a
// minimal reverse proxy of the standard library that does the same two TLS legs,
// and directly. The first and the last are timed over HTTP/2 as well.

// contestant is one way to the upstream.
type contestant struct {
	name   string
	client *http.Client
	spent  time.Duration
}

func contestants(b *testing.B, h http.Handler) []*contestant {
	b.Helper()
	r := newRig(b, options{rules: []string{"GET api.test/bench/**", "POST api.test/other", "!* api.test/admin/**"},
		bindings: []creds.Binding{bearer("api.test")}})
	s, err := creds.NewSecret([]byte(secretValue))
	if err != nil {
		b.Fatal(err)
	}
	r.table.Resolve(0, 1, s, nil)
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	up := r.start("api.test:443", srv)
	ours := r.at("api.test:443", up)

	cert, err := r.ca.mint(mustAuthority(b, "api.test:443"), time.Now())
	if err != nil {
		b.Fatal(err)
	}
	target, err := url.Parse("https://" + up)
	if err != nil {
		b.Fatal(err)
	}
	lane := r.proxy.now().Dial.transport(nil, false)
	lane.DialContext = nil
	lane.TLSClientConfig.ServerName = "api.test"
	rp := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:    func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport:  lane,
		BufferPool: pooled{},
	})
	rp.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
	rp.StartTLS()
	b.Cleanup(rp.Close)

	direct := r.client(up)
	transportOf(direct).TLSClientConfig.RootCAs = r.upstream.Roots
	return []*contestant{
		{name: "omnijail", client: r.client(ours)},
		{name: "reverseproxy", client: r.client(rp.Listener.Addr().String())},
		{name: "direct", client: direct},
		{name: "omnijail-h2", client: r.http2Client(ours)},
		{name: "direct-h2", client: directHTTP2(r, up)},
	}
}

// directHTTP2 is a client of HTTP/2 with nobody in between.
func directHTTP2(r *rig, up string) *http.Client {
	c := r.http2Client(up)
	transportOf(c).TLSClientConfig.RootCAs = r.upstream.Roots
	return c
}

type pooled struct{}

var benchBuffers = sync.Pool{New: func() any { b := make([]byte, streamBuffer); return &b }}

func (pooled) Get() []byte  { return *benchBuffers.Get().(*[]byte) }
func (pooled) Put(b []byte) { benchBuffers.Put(&b) }

// report prints each contestant's rate, and ours against the others.
func report(b *testing.B, all []*contestant, units float64, unit string) {
	for _, c := range all {
		b.ReportMetric(units/c.spent.Seconds(), c.name+"-"+unit)
	}
	for _, c := range all[1:] {
		b.ReportMetric(c.spent.Seconds()/all[0].spent.Seconds(), "x-"+c.name)
	}
	b.ReportMetric(0, "ns/op")
}

const bigBody = 32 << 20 // bytes

// BenchmarkBigBody carries 32 MB replies.
func BenchmarkBigBody(b *testing.B) { benchBig(b, contestants, make([]byte, 256<<10)) }

// benchBig carries replies of bigBody bytes that repeat chunk.
func benchBig(b *testing.B, enter func(*testing.B, http.Handler) []*contestant, chunk []byte) {
	all := enter(b, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(bigBody))
		for range bigBody / len(chunk) {
			w.Write(chunk)
		}
	}))
	for b.Loop() {
		for _, c := range all {
			began := time.Now()
			fetch(b, c.client, bigBody)
			c.spent += time.Since(began)
		}
	}
	report(b, all, float64(b.N)*bigBody/1e6, "MB/s")
}

// BenchmarkSmallRequests sends keep-alive requests from 16 clients at once.
func BenchmarkSmallRequests(b *testing.B) { benchSmall(b, 16, false) }

// BenchmarkNewConnections sends each request on a connection of its own, of four
// clients at once. Names are not looked up.
func BenchmarkNewConnections(b *testing.B) { benchSmall(b, 4, true) }

// BenchmarkLatency sends keep-alive requests one after the other.
func BenchmarkLatency(b *testing.B) { benchSmall(b, 1, false) }

func benchSmall(b *testing.B, clients int, fresh bool) {
	const each = 100
	all := contestants(b, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		io.WriteString(w, `{"login":"mona","id":1}`)
	}))
	for _, c := range all {
		transportOf(c.client).DisableKeepAlives = fresh
	}
	for b.Loop() {
		for _, c := range all {
			began := time.Now()
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					for range each {
						fetch(b, c.client, 23)
					}
				})
			}
			wg.Wait()
			c.spent += time.Since(began)
		}
	}
	report(b, all, float64(b.N*clients*each), "req/s")
}

func fetch(b *testing.B, c *http.Client, want int64) {
	resp, err := c.Get("https://api.test/bench/x")
	if err != nil {
		b.Error(err)
		return
	}
	n, err := io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err != nil || n != want {
		b.Errorf("%d bytes: %v", n, err)
	}
}
