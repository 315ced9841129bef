package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// The counters say what happened, to root alone, and no label holds what a jail
// could choose.
func TestMetrics(t *testing.T) {
	n := NewNode(t, Options{Bubblewrap: true})
	socket := filepath.Join(n.Dir, "run/metrics.sock")
	n.Exec(t, "--allow", "GET example.test/echo", "--", "sh", "-c",
		"curl -sS https://example.test/echo >/dev/null; curl -sS https://example.test/other >/dev/null; exit 0").Want(t, 0)
	n.Exec(t, "--", "/no/such/command").Want(t, 127)
	n.Exec(t, "--timeout", "200ms", "--", "sleep", "60").Want(t, 124)

	text := n.metrics(t)
	for _, line := range []string{
		`omnijail_requests_total{decision="allow"} 1`,
		`omnijail_requests_total{decision="deny"} 1`,
		`omnijail_execs_total{outcome="exited"} 1`,
		`omnijail_execs_total{outcome="failed"} 1`,
		`omnijail_execs_total{outcome="timeout"} 1`,
		`omnijail_start_seconds_count 2`,
		`omnijail_decisions_total{decision="deny",kind="request"} 1`,
		`omnijail_credential_uses_total 0`,
		`omnijail_upstream_seconds_count 1`,
		`omnijail_egress_failures_total 0`,
		`omnijail_audit_queue 0`,
		`omnijail_egress_processes 1`,
		`omnijail_jails 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing %s in\n%s", line, text)
		}
	}
	until(t, "two jails wait again", func() bool { return strings.Contains(n.metrics(t), "omnijail_jails_ready 2\n") })
	if strings.Contains(text, "example") || strings.Contains(text, "2001") {
		t.Errorf("a label names a host or a user:\n%s", text)
	}
	asUser(t, Alice, func() {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			t.Error("a user may read the metrics")
		}
	})
}

// metrics is what Prometheus reads.
func (n *Node) metrics(t testing.TB) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(n.Dir, "run/metrics.sock"))
	}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://omnijail/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
