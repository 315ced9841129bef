package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/omnijail/omnijail/internal/audit"
)

// metrics are the daemon's counters. No label holds a host, a user or a policy:
// their number would be the jails' to choose.
type metrics struct {
	registry    *prometheus.Registry
	jails       prometheus.Gauge
	execs       *prometheus.CounterVec // by outcome: exited, failed, timeout, killed
	starts      prometheus.Histogram
	requests    *prometheus.CounterVec // by decision
	decisions   *prometheus.CounterVec // by kind and decision
	credentials prometheus.Counter
	exchanges   prometheus.Histogram
	egress      prometheus.Gauge
	egressDied  prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		jails:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "omnijail_jails", Help: "Live jails."}),
		execs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "omnijail_execs_total", Help: "Commands by how they ended.",
		}, []string{"outcome"}),
		starts: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "omnijail_start_seconds", Help: "From the request to the command's first instruction.",
			Buckets: prometheus.ExponentialBuckets(0.002, 2, 10),
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "omnijail_requests_total", Help: "Requests of jails by decision.",
		}, []string{"decision"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "omnijail_decisions_total", Help: "Decisions about jails by what they were about.",
		}, []string{"kind", "decision"}),
		credentials: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "omnijail_credential_uses_total", Help: "Requests that left with a credential.",
		}),
		exchanges: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "omnijail_upstream_seconds", Help: "From the decision on a request to the end of its reply.",
			Buckets: prometheus.ExponentialBuckets(0.004, 4, 9),
		}),
		egress: prometheus.NewGauge(prometheus.GaugeOpts{Name: "omnijail_egress_processes", Help: "Live egress processes."}),
		egressDied: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "omnijail_egress_failures_total", Help: "Egress processes that ended while they were needed.",
		}),
	}
	m.registry.MustRegister(m.jails, m.execs, m.starts, m.requests, m.decisions, m.credentials, m.exchanges, m.egress, m.egressDied)
	return m
}

// depths adds what is counted when it is asked for.
func (m *metrics) depths(networks, jails, queue func() int) {
	gauge := func(name, help string, n func() int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(n()) }))
	}
	gauge("omnijail_networks_ready", "Network namespaces that wait for a jail.", networks)
	gauge("omnijail_jails_ready", "Jails that have started and wait for a command.", jails)
	gauge("omnijail_audit_queue", "Records that wait to be written.", queue)
}

// saw counts one written record of a jail's. Kinds and decisions are a few words
// each; everything else in a record may be a jail's.
func (m *metrics) saw(r audit.Record) {
	if r.Decision != "" {
		m.decisions.WithLabelValues(string(r.Kind), string(r.Decision)).Inc()
	}
	switch r.Kind {
	case audit.KindRequest:
		m.requests.WithLabelValues(string(r.Decision)).Inc()
		if r.Credential != "" && r.Decision == audit.Allow {
			m.credentials.Inc()
		}
	case audit.KindDone:
		m.exchanges.Observe((time.Duration(r.Millis) * time.Millisecond).Seconds())
	}
}

// Metrics is the registry to serve.
func (m *Manager) Metrics() *prometheus.Registry { return m.metrics.registry }
