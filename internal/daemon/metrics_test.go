package daemon

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

var metricName = regexp.MustCompile(`omnijail_[a-z_]+`)

// names are the metrics of a registry, each of which has been counted once.
func names(t *testing.T) map[string]bool {
	t.Helper()
	m := newMetrics()
	none := func() int { return 0 }
	m.depths(none, none, none)
	m.execs.WithLabelValues("exited").Inc()
	m.saw(audit.Record{Kind: audit.KindRequest, Decision: audit.Deny})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range families {
		got[f.GetName()] = true
	}
	return got
}

// The dashboard asks for what there is, and the page lists all of it.
func TestMetricsAreWhatDashboardAndPageSay(t *testing.T) {
	have := names(t)
	for _, file := range []string{"../../packaging/grafana/omnijail.json", "../../docs/design.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said := map[string]bool{}
		for _, name := range metricName.FindAllString(string(text), -1) {
			name = strings.TrimSuffix(name, "_bucket")
			if said[name] = true; !have[name] {
				t.Errorf("%s names %s, which there is not", file, name)
			}
		}
		for name := range have {
			if !said[name] {
				t.Errorf("%s does not show %s", file, name)
			}
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", file)
		}
	}
}

func TestCredentialUses(t *testing.T) {
	m := newMetrics()
	for _, r := range []audit.Record{
		{Kind: audit.KindRequest, Decision: audit.Allow, Credential: "c"},
		{Kind: audit.KindRequest, Decision: audit.Deny, Credential: "c"}, // refused: it did not leave
		{Kind: audit.KindRequest, Decision: audit.Allow},
		{Kind: audit.KindDone, Credential: "c", Millis: 3},
	} {
		m.saw(r)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "omnijail_credential_uses_total" && f.GetMetric()[0].GetCounter().GetValue() != 1 {
			t.Errorf("counted %v uses, want 1", f.GetMetric()[0].GetCounter().GetValue())
		}
	}
}
