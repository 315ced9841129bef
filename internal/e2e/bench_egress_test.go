package e2e

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkEgress compares ways to one upstream, in turns: from a jail through the
// daemon's egress process, with rules, a credential and the audit that a user has;
// through other proxies that intercept TLS; and directly. Each way has a client of
// its own, all of them the same program, and each proxy is a process of its own.
//
// Only ratios say something: clients, proxy and upstream share the processors.

// race is the upstream and all ways to it.
type race struct {
	up       *httptest.Server
	id       keyPair // the upstream's, and what the peers sign with
	self     string  // the program of the clients, which is the benchmark's own
	together bool    // all processes are in the session of the benchmark
	ways     []*way
}

func newRace(b testing.TB) *race {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	r := &race{id: newKeyPair(b), self: self}
	r.up = httptest.NewUnstartedServer(loadUpstream())
	r.up.TLS = &tls.Config{Certificates: []tls.Certificate{r.id.pair}}
	r.up.StartTLS()
	b.Cleanup(r.up.Close)
	return r
}

// way is one client, in a jail or behind a proxy, and what its turns gave.
type way struct {
	name    string
	enc     *json.Encoder
	dec     *json.Decoder
	results []loadResult
}

const bigBody = 32 << 20

// loadPolicy has a rule and a credential for the upstream, and some for others.
const loadPolicy = `
caller: [cwd, tty, timeout, env]
write_paths: ["."]
egress_rules:
  - "GET bench.example.test/**"
  - "!* bench.example.test/admin/**"
  - "* api.example.test/repos/**"
credential_proxy:
  - {type: https_bearer, target: bench.example.test, source: {env: E2E_TOKEN}}
`

func BenchmarkEgress(b *testing.B) {
	r := newRace(b)
	r.addOurs(b)
	r.addPeers(b)
	r.add(b, "direct", r.outside(r.up.URL, ""))
	r.run(b, []heat{
		{"big", loadJob{Path: "/big", Size: bigBody, Clients: 1, Each: 8}, rateOf(bigBody / 1e6), "MB/s"},
		{"small", loadJob{Path: "/small", Size: 23, Clients: 16, Each: 200}, rateOf(1), "req/s"},
		{"new", loadJob{Path: "/small", Size: 23, Clients: 4, Each: 50, Fresh: true}, rateOf(1), "conn/s"},
		{"latency", loadJob{Path: "/small", Size: 23, Clients: 1, Each: 1000}, medianOf, "us"},
		{"events", loadJob{Path: "/events", Size: -1, Clients: 1, Each: 1}, medianOf, "us"},
	})
}

// heat is one job for all ways, and what is looked at.
type heat struct {
	name  string
	job   loadJob
	value func(loadResult) float64
	unit  string
}

// rateOf is the rate of requests that carry so many units each.
func rateOf(units float64) func(loadResult) float64 {
	return func(res loadResult) float64 { return units * float64(res.Requests) / res.Total.Seconds() }
}

// medianOf is that of one request, in microseconds.
func medianOf(res loadResult) float64 { return float64(res.Median.Nanoseconds()) / 1000 }

// run has the ways take turns at each of the heats.
func (r *race) run(b *testing.B, heats []heat) {
	for _, h := range heats {
		b.Run(h.name, func(b *testing.B) {
			first := h.job
			first.For /= 4
			for _, w := range r.ways {
				w.results = nil
				w.turn(b, first) // connections are there then
			}
			for b.Loop() {
				for _, w := range r.ways {
					w.results = append(w.results, w.turn(b, h.job))
				}
			}
			r.report(b, h.value, h.unit)
		})
	}
}

// loadUpstream answers small, large and event by event.
func loadUpstream() http.Handler {
	mux := http.NewServeMux()
	chunk := make([]byte, 256<<10)
	mux.HandleFunc("/small", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"login":"mona","id":1}`)
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(bigBody))
		for range bigBody / len(chunk) {
			w.Write(chunk)
		}
	})
	mux.HandleFunc("/sink", func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for range 200 {
			<-tick.C
			fmt.Fprintf(w, "data: %d\n\n", time.Now().UnixNano())
			flush.Flush()
		}
	})
	return mux
}

// addOurs is the way from a jail of a daemon.
func (r *race) addOurs(b *testing.B) { r.addJail(b, r.node(b), "omnijail") }

// node is a daemon that reaches the upstream.
func (r *race) node(b testing.TB) *Node {
	return NewNode(b, Options{NoLab: true, Apart: true, Policy: map[string]string{"load": loadPolicy}, Config: map[string]any{
		"upstream": map[string]any{
			"hosts":    map[string]string{"bench.example.test": r.up.Listener.Addr().String()},
			"ca_files": []string{r.id.certFile},
		},
	}})
}

// addJail is the way from a jail of n.
func (r *race) addJail(b testing.TB, n *Node, name string) {
	dir := n.Workspace(b, Alice, nil)
	if out, err := exec.Command("install", "-m", "0755", r.self, dir+"/load").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	r.add(b, name, n.Command(b, Ctl{UID: Alice, Dir: dir, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{
		"exec", "--policy", "load", "--", "env", roleVariable + "=load", "./load", "https://bench.example.test",
	}}))
}

// outside is a client that is not jailed, of base itself or, where one is given,
// through a proxy.
func (r *race) outside(base, proxy string) *exec.Cmd {
	cmd := exec.Command(r.self, base, proxy)
	cmd.Env = []string{roleVariable + "=load", "SSL_CERT_FILE=" + r.id.certFile}
	return cmd
}

// add starts the client of a way; it ends with the benchmark.
func (r *race) add(b testing.TB, name string, client *exec.Cmd) {
	in, out := r.piped(b, client)
	r.ways = append(r.ways, &way{name: name, enc: json.NewEncoder(in), dec: json.NewDecoder(out)})
}

// turn has a way's client do one job.
func (w *way) turn(b testing.TB, job loadJob) (res loadResult) {
	if err := w.do(job, &res); err != nil {
		b.Fatalf("%s: %v", w.name, err)
	}
	if res.Err != "" {
		b.Fatalf("%s: %s", w.name, res.Err)
	}
	return res
}

func (w *way) do(job loadJob, res *loadResult) error {
	return errors.Join(w.enc.Encode(job), w.dec.Decode(res))
}

// report prints the median turn of each way, and the median of ours divided by
// theirs in the same turn.
func (r *race) report(b *testing.B, value func(loadResult) float64, unit string) {
	ours := r.ways[0]
	for _, w := range r.ways {
		var values, ratios []float64
		for i, res := range w.results {
			values = append(values, value(res))
			ratios = append(ratios, value(ours.results[i])/value(res))
		}
		b.ReportMetric(middle(values), w.name+"-"+strings.ReplaceAll(unit, "/", "_per_"))
		if w != ours {
			b.ReportMetric(middle(ratios), "omnijail/"+w.name)
		}
	}
	b.ReportMetric(0, "ns/op") // the turn as a whole means nothing
}

func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
