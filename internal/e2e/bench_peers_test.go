package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// addPeers adds the other proxies. One whose program is missing is named.
func (r *race) addPeers(b *testing.B) {
	for _, p := range []struct {
		name, program, from string
		start               func(*testing.B, *race) (base, proxy string)
	}{
		{"reverseproxy", "go", "", startReverseProxy},
		{"goproxy", "go", "", startGoproxy},
		{"squid", "squid", "squid-openssl", startSquid},
		{"mitmproxy", "mitmdump", "mitmproxy", startMitmproxy},
	} {
		if _, err := exec.LookPath(p.program); err != nil {
			b.Logf("not measured: %s. To have it: apt-get install %s", p.name, p.from)
			continue
		}
		base, proxy := p.start(b, r)
		r.add(b, p.name, r.outside(base, proxy))
	}
}

// startReverseProxy is the least that Go's standard library needs for the same two
// TLS legs. It judges nothing.
func startReverseProxy(b *testing.B, r *race) (base, proxy string) {
	cmd := exec.Command(r.self, r.up.URL, r.id.pairFile, r.id.certFile)
	cmd.Env = []string{roleVariable + "=reverseproxy"}
	return "https://" + r.firstLine(b, cmd), ""
}

// playReverseProxy is its process: `reverseproxy UPSTREAM KEYPAIR ROOTS`.
func playReverseProxy(in io.Reader, out io.Writer) error {
	target, err := url.Parse(os.Args[1])
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(os.Args[2], os.Args[2])
	if err != nil {
		return err
	}
	roots, err := os.ReadFile(os.Args[3])
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	go http.Serve(l, &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool}, DisableCompression: true, MaxIdleConnsPerHost: 256,
			ReadBufferSize: loadBuffer, WriteBufferSize: loadBuffer,
		},
		BufferPool: buffers{},
	})
	_, err = io.Copy(io.Discard, in)
	return err
}

const loadBuffer = 64 << 10

// buffers lends the reverse proxy what it copies with.
type buffers struct{}

var lent = sync.Pool{New: func() any { b := make([]byte, loadBuffer); return &b }}

func (buffers) Get() []byte  { return *lent.Get().(*[]byte) }
func (buffers) Put(b []byte) { lent.Put(&b) }

func startGoproxy(b *testing.B, r *race) (base, proxy string) {
	program := filepath.Join(b.TempDir(), "goproxy")
	build := exec.Command("go", "build", "-o", program, "./goproxy")
	build.Dir = "../../tools/peers"
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("goproxy: %v\n%s", err, out)
	}
	return r.up.URL, "http://" + r.firstLine(b, exec.Command(program, r.id.pairFile, r.id.certFile))
}

// startSquid has squid bump every CONNECT.
func startSquid(b *testing.B, r *race) (base, proxy string) {
	dir := openDir(b)
	for _, argv := range [][]string{
		{"/usr/lib/squid/security_file_certgen", "-c", "-s", dir + "/certs", "-M", "8MB"},
		{"chown", "-R", "proxy:proxy", dir},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			b.Fatalf("squid: %v\n%s", err, out)
		}
	}
	addr := freeAddr(b)
	config := fmt.Sprintf(`
http_port %s ssl-bump tls-cert=%s generate-host-certificates=on dynamic_cert_mem_cache_size=8MB
sslcrtd_program /usr/lib/squid/security_file_certgen -s %s/certs -M 8MB
ssl_bump bump all
http_access allow all
tls_outgoing_options cafile=%s
cache deny all
pinger_enable off
access_log none
cache_log %[3]s/log
pid_filename %[3]s/pid
hosts_file %[3]s/hosts
coredump_dir %[3]s
shutdown_lifetime 0 seconds
cache_effective_user proxy
`, addr, r.id.pairFile, dir, r.id.certFile)
	err := errors.Join(os.WriteFile(dir+"/conf", []byte(config), 0o644), os.WriteFile(dir+"/hosts", []byte("127.0.0.1 bench.example.test\n"), 0o644))
	if err != nil {
		b.Fatal(err)
	}
	r.listening(b, exec.Command("squid", "-N", "-f", dir+"/conf"), addr)
	// Its certificates for an address name it where no client looks.
	return strings.Replace(r.up.URL, "127.0.0.1", "bench.example.test", 1), "http://" + addr
}

func startMitmproxy(b *testing.B, r *race) (base, proxy string) {
	dir := b.TempDir()
	pair, err := os.ReadFile(r.id.pairFile)
	if err := errors.Join(err, os.WriteFile(dir+"/mitmproxy-ca.pem", pair, 0o600)); err != nil {
		b.Fatal(err)
	}
	addr := freeAddr(b)
	host, port, _ := strings.Cut(addr, ":")
	r.listening(b, exec.Command("mitmdump", "-q", "--set", "confdir="+dir, "--set", "ssl_verify_upstream_trusted_ca="+r.id.certFile,
		"--set", "flow_detail=0", "--listen-host", host, "--listen-port", port), addr)
	return r.up.URL, "http://" + addr
}

// firstLine starts a proxy of ours and returns the address that it prints.
func (r *race) firstLine(b testing.TB, cmd *exec.Cmd) string {
	_, out := r.piped(b, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatalf("%s: %v", cmd.Path, err)
	}
	return strings.TrimSpace(line)
}

// listening starts a proxy and waits until it accepts. It ends with the benchmark.
func (r *race) listening(b *testing.B, cmd *exec.Cmd, addr string) {
	r.piped(b, cmd)
	limit := time.After(hang)
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			b.Fatalf("%s does not accept", cmd.Path)
		}
	}
}

// piped starts a process that ends with the benchmark. It has a session of its own,
// as a service has, a jail and an egress process, where the race does not want all
// together: the kernel shares the processors out among sessions (autogroup), and
// processes of one get in each other's way less.
func (r *race) piped(b testing.TB, cmd *exec.Cmd) (in io.Writer, out io.Reader) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = !r.together
	var errs syncBuffer
	cmd.Stderr = &errs
	w, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		w.Close()
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		if b.Failed() {
			b.Logf("%s said:\n%s", filepath.Base(cmd.Path), errs.String())
		}
	})
	return w, out
}

// freeAddr is an address of loopback that nobody listens at.
func freeAddr(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
