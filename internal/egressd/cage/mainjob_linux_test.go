package cage

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/netns"
)

const jailID = "j0123456789abcdef"

// TestRealEgressServesAJailFromItsCage plays the daemon: the egress process runs
// with its cage and its filter, curl runs in the jail's network namespace.
func TestRealEgressServesAJailFromItsCage(t *testing.T) {
	seen := make(chan *http.Request, 1)
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r
		w.Write([]byte("hello from upstream"))
	}))
	t.Cleanup(upstream.Close)
	cmd, daemonEnd := start(t, build(t, ""), (*exec.Cmd).Start)
	d := newDaemon(t, daemonEnd)

	// httptest's certificate is for example.com.
	config := wire.Config{
		Roots: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw}),
		Hosts: map[string]netip.AddrPort{"example.com:443": netip.MustParseAddrPort(upstream.Listener.Addr().String())},
	}
	d.hello(config)
	authority, err := egress.ParseAuthority("example.com", 443)
	if err != nil {
		t.Fatal(err)
	}
	rule, err := egress.ParseRule("GET example.com/ok")
	if err != nil {
		t.Fatal(err)
	}
	ns, answer := d.attach(wire.Spec{
		Rules: []egress.Rule{rule},
		Bindings: []creds.Binding{{
			Name: "example", Type: creds.Bearer, Foreign: creds.ForeignDeny, Env: []creds.EnvVar{{Name: "TOKEN"}},
			Targets: []creds.Target{{Authority: authority, Scheme: creds.SchemeBearer}},
			Sources: []creds.Source{{Kind: creds.SourceFile, File: "~/token"}},
		}},
	})
	if answer.Env["TOKEN"] == "" || len(answer.CADER) == 0 {
		t.Fatalf("answer has no placeholder or no CA: %+v", answer)
	}
	d.secret(0, 1, "the-real-secret-815")

	ca := filepath.Join(t.TempDir(), "ca.pem")
	os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: answer.CADER}), 0o600)
	body, err := curl(ns, "--cacert", ca, "https://example.com/ok")
	if err != nil || string(body) != "hello from upstream" {
		t.Fatalf("allowed request: %q, %v; event %+v", body, err, d.event(audit.KindRequest))
	}
	if r := <-seen; r.Header.Get("Authorization") != "Bearer the-real-secret-815" {
		t.Errorf("upstream saw Authorization %q", r.Header.Get("Authorization"))
	}
	e := d.event(audit.KindRequest)
	if e.Decision != audit.Allow || e.Authority != "example.com:443" || e.Path != "/ok" || e.Rule != 0 || e.Binding != 0 {
		t.Errorf("event %+v", e)
	}
	if _, err := curl(ns, "--fail", "--cacert", ca, "https://example.com/other"); err == nil {
		t.Error("a request that no rule allows went through")
	}
	if e := d.event(audit.KindRequest); e.Decision != audit.Deny || e.Code != audit.CodeNoRule {
		t.Errorf("event %+v", e)
	}
	if _, err := curl(ns, "https://not-listed.example.net/"); err == nil {
		t.Error("a name that no rule lists has an address")
	}
	if e := d.event(audit.KindDNS); e.Name != "not-listed.example.net" || e.Decision != audit.Deny {
		t.Errorf("event %+v", e)
	}

	d.conn.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("egress ended with %v when the daemon went", err)
	}
	if _, err := curl(ns, "--cacert", ca, "https://example.com/ok"); err == nil {
		t.Error("the jail still has a network without its egress process")
	}
}

// curl runs in the namespace, whose every address of a name server is the stub's.
func curl(ns *netns.Net, args ...string) ([]byte, error) {
	cmd := exec.Command("nsenter", append([]string{"--net=/proc/self/fd/3", "curl", "-sS", "--max-time", "20"}, args...)...)
	cmd.ExtraFiles = []*os.File{ns.FD()}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if x, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%w: %s", err, x.Stderr)
	}
	return out, err
}
