package e2e

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd"
	"github.com/omnijail/omnijail/mitm"
)

// BenchmarkProxies compares proxies and nothing else, in the way in which the aims
// were measured: each is one process, all have the same client program, one upstream
// and one session, and none keeps a journal. Ours has what it has in a jail's way:
// rules, a credential, searched replies, a record before each request. Turns of a
// second; -benchtime says how many.
func BenchmarkProxies(b *testing.B) {
	r := newRace(b)
	r.together = true
	r.addInterceptor(b)
	r.addPeers(b)
	r.add(b, "direct", r.outside(r.up.URL, ""))
	r.run(b, []heat{
		{"big", loadJob{Path: "/big", Size: bigBody, Clients: 1, For: time.Second}, rateOf(bigBody / 1e6), "MB/s"},
		{"small", loadJob{Path: "/small", Size: 23, Clients: 16, For: time.Second}, rateOf(1), "req/s"},
		{"one", loadJob{Path: "/small", Size: 23, Clients: 1, For: time.Second}, rateOf(1), "req/s"},
		{"new", loadJob{Path: "/small", Size: 23, Clients: 4, For: time.Second, Fresh: true}, rateOf(1), "conn/s"},
	})
}

// addInterceptor is the way through our proxy alone, as a process.
func (r *race) addInterceptor(b *testing.B) {
	caFile := filepath.Join(openDir(b), "ca.pem")
	cmd := exec.Command(r.self, r.up.Listener.Addr().String(), r.id.certFile, caFile)
	cmd.Env = []string{roleVariable + "=interceptor"}
	at := r.firstLine(b, cmd)
	_, port, _ := strings.Cut(at, ":")
	client := exec.Command(r.self, (&url.URL{Scheme: "https", Host: benchHost + ":" + port}).String(), "", at)
	client.Env = []string{roleVariable + "=load", "SSL_CERT_FILE=" + caFile}
	r.add(b, "omnijail", client)
}

const benchHost = "bench.example.test"

// playInterceptor is the process of our proxy: `interceptor UPSTREAM ROOTS CA`. It
// writes its CA to the file of that name and prints where it listens.
func playInterceptor(in io.Reader, out io.Writer) error {
	debug.SetGCPercent(egressd.GCPercent) // as in an egress process
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	config, err := interceptor(l.Addr().(*net.TCPAddr).AddrPort(), os.Args[1], os.Args[2])
	if err != nil {
		return err
	}
	proxy, err := mitm.New(config)
	if err != nil {
		return err
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: config.CA.DER()})
	if err := os.WriteFile(os.Args[3], ca, 0o644); err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	go proxy.Serve(l)
	_, err = io.Copy(io.Discard, in)
	return err
}

// interceptor is a proxy that stands at an address for benchHost, with the rules and
// the credential of loadPolicy.
func interceptor(at netip.AddrPort, upstream, roots string) (c mitm.Config, err error) {
	host := fmt.Sprintf("%s:%d", benchHost, at.Port())
	target, err1 := netip.ParseAddrPort(upstream)
	certs, err2 := os.ReadFile(roots)
	rules, err3 := compiled("GET "+host+"/**", "!* "+host+"/admin/**", "* api.example.test/repos/**")
	table, err4 := holding(host)
	ca, err5 := mitm.NewCA()
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return c, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certs)
	return mitm.Config{
		Jail: "j0123456789abcdef", Names: standsFor{at.Addr(), benchHost}, CA: ca, Audit: new(forgetful),
		Policy: mitm.Policy{Rules: rules, Table: table, Dial: mitm.NewDialer(mitm.Upstream{
			Hosts: map[string]netip.AddrPort{host: target}, Roots: pool,
		})},
	}, nil
}

func compiled(lines ...string) (*egress.Rules, error) {
	var rules []egress.Rule
	for _, line := range lines {
		rule, err := egress.ParseRule(line)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return egress.Compile(rules)
}

// holding is a table with the lab's token for host.
func holding(host string) (*creds.Table, error) {
	a, path, err1 := creds.ParseTarget(host)
	table, err2 := creds.NewTable([]creds.Binding{creds.Defaults(creds.Binding{
		Type: creds.Bearer, Targets: []creds.Target{{Authority: a, Path: path}},
		Env: []creds.EnvVar{{Name: "E2E_TOKEN"}}, Sources: []creds.Source{{Kind: creds.SourceEnv, Env: "E2E_TOKEN"}},
	}, "")})
	secret, err3 := creds.NewSecret([]byte(Token))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	table.Resolve(0, 1, secret, nil)
	return table, nil
}

// standsFor is the name of one address.
type standsFor struct {
	addr netip.Addr
	name string
}

func (s standsFor) Name(a netip.Addr) (string, bool) { return s.name, a == s.addr }

// forgetful acknowledges records and keeps none.
type forgetful struct{ n atomic.Uint64 }

func (f *forgetful) Open(context.Context, mitm.Event) (string, error) {
	return strconv.FormatUint(f.n.Add(1), 16), nil
}

func (f *forgetful) Done(string, mitm.Event) {}
