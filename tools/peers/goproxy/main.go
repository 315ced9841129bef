// Command goproxy is goproxy's own interception, to be measured beside ours.
//
//	goproxy CA ROOTS
//
// CA holds the certificate and key that sign its leaves, ROOTS what it verifies
// upstreams with. It prints the address of its proxy and serves until its
// standard input ends.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/elazarl/goproxy"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "goproxy:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return errors.New("usage: goproxy CA ROOTS")
	}
	ca, err := tls.LoadX509KeyPair(os.Args[1], os.Args[1])
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(os.Args[2])
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go http.Serve(l, newProxy(&ca, pem))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// newProxy intercepts every CONNECT, with the buffers that ours has and its
// leaves kept.
func newProxy(ca *tls.Certificate, roots []byte) *goproxy.ProxyHttpServer {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	p := goproxy.NewProxyHttpServer()
	p.CertStore = &store{leaves: map[string]*tls.Certificate{}}
	p.Tr = &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: pool},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 256,
		ReadBufferSize:      64 << 10,
		WriteBufferSize:     64 << 10,
	}
	sign := goproxy.TLSConfigFromCA(ca)
	p.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		return &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: sign}, host
	})
	return p
}

// store keeps leaves by host name.
type store struct {
	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

func (s *store) Fetch(host string, make func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if leaf := s.leaves[host]; leaf != nil {
		return leaf, nil
	}
	leaf, err := make()
	if err == nil {
		s.leaves[host] = leaf
	}
	return leaf, err
}
