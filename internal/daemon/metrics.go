package daemon

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the daemon's counters. No label holds a host, a user or a policy:
// their number would be the jails' to choose.
type metrics struct {
	registry *prometheus.Registry
	jails    prometheus.Gauge
	execs    *prometheus.CounterVec // by outcome: exited, failed, timeout, killed
	starts   prometheus.Histogram
	requests *prometheus.CounterVec // by decision
	egress   prometheus.Gauge
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
		egress: prometheus.NewGauge(prometheus.GaugeOpts{Name: "omnijail_egress_processes", Help: "Live egress processes."}),
	}
	m.registry.MustRegister(m.jails, m.execs, m.starts, m.requests, m.egress)
	return m
}

// Metrics is the registry to serve.
func (m *Manager) Metrics() *prometheus.Registry { return m.metrics.registry }
