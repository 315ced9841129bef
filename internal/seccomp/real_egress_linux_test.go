package seccomp

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// egressChild lives under the egress filter the way the egress process does, and
// then tries what it must not.
func egressChild() error {
	// Made before the filter: descriptors come from the daemon in real life.
	f, err := Egress()
	if err != nil {
		return err
	}
	if err := noNewPrivs(); err != nil {
		return err
	}
	if err := f.InstallAll(); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"tls", tlsRoundTrip}, {"udp", udpRoundTrip}, {"interfaces", interfaces}, {"files", readFiles},
		{"threads", manyThreads}, {"signals", ownSignal}, {"resolver", resolve}, {"refusals", egressRefusals},
	} {
		if err := step.run(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Println(step.name)
	}
	return nil
}

func TestS11_EgressLivesUnderItsFilter(t *testing.T) {
	got := strings.Join(runChild(t, "egress"), " ")
	if want := "tls udp interfaces files threads signals resolver refusals"; got != want {
		t.Fatalf("the child did %q, want %q", got, want)
	}
}

func tlsRoundTrip() error {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	defer server.Close()
	reply, err := server.Client().Post(server.URL, "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if n, err := io.Copy(io.Discard, reply.Body); n != 1<<20 || err != nil {
		return fmt.Errorf("%d bytes came back: %w", n, err)
	}
	return nil
}

func udpRoundTrip() error {
	a, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := net.Dial("udp", a.LocalAddr().String())
	if err != nil {
		return err
	}
	defer b.Close()
	if _, err := b.Write([]byte("ping")); err != nil {
		return err
	}
	_, _, err = a.ReadFrom(make([]byte, 16))
	return err
}

func interfaces() error {
	addrs, err := net.InterfaceAddrs()
	if err == nil && len(addrs) == 0 {
		return errors.New("no address")
	}
	return err
}

func readFiles() error {
	if _, err := os.ReadFile("/proc/self/status"); err != nil {
		return err
	}
	if _, err := os.ReadDir("/etc"); err != nil {
		return err
	}
	_, err := x509.SystemCertPool()
	return err
}

func manyThreads() error {
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			runtime.GC()
		})
	}
	all.Wait()
	return unix.Mlockall(unix.MCL_CURRENT | unix.MCL_ONFAULT)
}

func ownSignal() error {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	if err := unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGUSR1); err != nil {
		return err
	}
	<-c
	return nil
}

// resolve uses the pure Go resolver against a server that is not there.
func resolve() error {
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", "127.0.0.1:9")
	}}
	var dns *net.DNSError
	if _, err := r.LookupHost(context.Background(), "example.test"); !errors.As(err, &dns) {
		return fmt.Errorf("want a DNS error, got %w", err)
	} else if strings.Contains(dns.Err, "operation not permitted") {
		return dns
	}
	return nil
}

func egressRefusals() error {
	tries := map[string]func() error{
		"exec":  func() error { return exec.Command("/bin/true").Run() },
		"execv": func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) },
		"unix":  func() error { return closed(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)) },
		"write": func() error { return os.WriteFile("made", nil, 0o600) },
		"truncate": func() error {
			return closed(unix.Openat(unix.AT_FDCWD, "/dev/null", unix.O_RDONLY|unix.O_TRUNC, 0))
		},
		"kill":   func() error { return unix.Kill(os.Getppid(), 0) },
		"ptrace": raw(unix.SYS_PTRACE, 0),
		"code": func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
			return err
		},
		"dumpable": func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
	}
	for what, try := range tries {
		if err := try(); !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}
