// Package lab is the world outside for tests and the demo: an upstream that
// looks like GitHub, on loopback, over real TLS of its own CA, with real git
// behind it; and clients that run without anything of this process's
// environment.
//
// One upstream serves every name. Each request is recorded with what a test must
// know (where it went, what authenticated it) and credentials are kept as
// fingerprints only, so that a log of it shows no secret.
//
// It is not part of what is shipped, and it does not import testing.
package lab

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"
)

// Options of an upstream. The zero Options work; nobody is then authenticated.
type Options struct {
	Token string // the credential that it accepts, as token, Bearer or Basic password
	Login string // whose it is; default octo-lab
	Log   *log.Logger
}

// Upstream is a running upstream. Close ends it and removes its files.
type Upstream struct {
	opt   Options
	base  context.Context // of every connection; ended by Close
	end   context.CancelFunc
	ca    *authority
	dir   string // bare repositories
	seen  recorder
	sites sync.Map // handlers by name, from Serve

	https, http, ssh, raw net.Listener
	servers               []*http.Server
	running               sync.WaitGroup
	once                  sync.Once
	held                  chan struct{} // closed by Release
	release               sync.Once
}

// NewUpstream starts an upstream on ports of 127.0.0.1 that the kernel chooses.
// It ends with ctx, or at Close.
func NewUpstream(ctx context.Context, opt Options) (*Upstream, error) {
	opt.Login = cmp.Or(opt.Login, "octo-lab")
	u := &Upstream{opt: opt, held: make(chan struct{})}
	u.base, u.end = context.WithCancel(context.Background())
	if err := u.start(); err != nil {
		u.Close()
		return nil, fmt.Errorf("lab upstream: %w", err)
	}
	context.AfterFunc(ctx, func() { u.Close() })
	return u, nil
}

func (u *Upstream) start() (err error) {
	if u.ca, err = newAuthority(); err != nil {
		return err
	}
	if u.dir, err = os.MkdirTemp("", "lab-git-"); err != nil {
		return err
	}
	for _, l := range []*net.Listener{&u.https, &u.http, &u.ssh, &u.raw} {
		var listen net.ListenConfig
		if *l, err = listen.Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
			return err
		}
		*l = counted{*l, &u.seen}
	}
	u.serve(tls.NewListener(u.https, &tls.Config{
		GetCertificate: u.ca.certificate,
		NextProtos:     []string{"h2", "http/1.1"},
	}))
	u.serve(u.http)
	u.accept(u.ssh, greetAsSSH)
	u.accept(u.raw, echo)
	return nil
}

func (u *Upstream) serve(l net.Listener) {
	s := &http.Server{
		Handler:           u.seen.record(u.routes()),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(discard{}, "", 0), // aborted handshakes are many tests' point
		ConnContext:       connContext,
	}
	u.servers = append(u.servers, s)
	u.running.Go(func() { s.Serve(l) })
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// Close ends the upstream and removes its repositories. It may be called again.
func (u *Upstream) Close() (err error) {
	u.once.Do(func() {
		u.Release()
		u.end()
		for _, s := range u.servers {
			err = errors.Join(err, s.Close())
		}
		for _, l := range []net.Listener{u.https, u.http, u.ssh, u.raw} {
			if l != nil {
				l.Close() // the servers have closed theirs
			}
		}
		u.running.Wait()
		if u.dir != "" {
			err = errors.Join(err, os.RemoveAll(u.dir))
		}
	})
	return err
}

// HTTPS is where every name is served over TLS.
func (u *Upstream) HTTPS() netip.AddrPort { return port(u.https) }

// HTTP is the same without TLS.
func (u *Upstream) HTTP() netip.AddrPort { return port(u.http) }

// SSH greets like an SSH server and says no more.
func (u *Upstream) SSH() netip.AddrPort { return port(u.ssh) }

// TCP sends back what it gets.
func (u *Upstream) TCP() netip.AddrPort { return port(u.raw) }

func port(l net.Listener) netip.AddrPort { return netip.MustParseAddrPort(l.Addr().String()) }

// CA is the upstream's CA certificate in PEM.
func (u *Upstream) CA() []byte { return u.ca.pem() }

// Hosts maps each name to where it is served, as the daemon's upstream.hosts
// wants it.
func (u *Upstream) Hosts(names ...string) map[string]netip.AddrPort {
	hosts := map[string]netip.AddrPort{}
	for _, n := range names {
		hosts[n] = u.HTTPS()
	}
	return hosts
}

// Release lets go of all requests that /hold holds, now and later.
func (u *Upstream) Release() { u.release.Do(func() { close(u.held) }) }
