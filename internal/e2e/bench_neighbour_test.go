package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkNeighbourUnderFlood measures the requests of one jail while another of the
// same user, served by the same egress process, floods it, in turns with the same
// requests without the flood. Each jail has an upstream of its own, a process like
// those that are not on this node. "computing" does nothing to the egress process: it
// is what a busy node does to the requests.
func BenchmarkNeighbourUnderFlood(b *testing.B) {
	r := newRace(b)
	n := r.floodNode(b)
	flood := r.floodJail(b, n)
	r.addJail(b, n, "neighbour")
	neighbour := r.ways[0]
	const long = time.Second
	job := loadJob{Path: "/small", Size: 23, Clients: 1, For: long}
	settle := job
	settle.For /= 2
	neighbour.turn(b, settle) // its connection is there then
	egress := egressOf(b, n)
	if len(egress) != 1 {
		b.Fatalf("egress processes %v, want one for both jails", egress)
	}
	for _, name := range slices.Sorted(maps.Keys(waves)) {
		b.Run(name, func(b *testing.B) {
			var alone, under, ratios, rates, busy, calm []float64
			for b.Loop() {
				neighbour.turn(b, settle) // what the flood before has left is over then
				used := cpuTime(b, egress[0])
				quiet := neighbour.turn(b, job)
				calm = append(calm, (cpuTime(b, egress[0])-used).Seconds()/quiet.Total.Seconds())
				used = cpuTime(b, egress[0])
				over := make(chan error, 1)
				var res floodResult
				go func() { over <- flood.roll(floodJob{Flood: name, For: long + long/5}, &res) }()
				loud := neighbour.turn(b, job)
				if err := <-over; err != nil {
					b.Fatal(err)
				}
				busy = append(busy, (cpuTime(b, egress[0])-used).Seconds()/(long+long/5).Seconds())
				alone = append(alone, float64(quiet.P99.Microseconds()))
				under = append(under, float64(loud.P99.Microseconds()))
				ratios = append(ratios, float64(loud.P99)/float64(quiet.P99))
				rates = append(rates, float64(res.Pieces)/(long+long/5).Seconds())
			}
			b.ReportMetric(middle(alone), "alone-p99-us")
			b.ReportMetric(middle(under), "flooded-p99-us")
			b.ReportMetric(middle(ratios), "flooded/alone")
			b.ReportMetric(middle(rates), "pieces/s")
			b.ReportMetric(middle(calm), "alone-processors")
			b.ReportMetric(middle(busy), "flooded-processors")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// floodNode is a daemon with one upstream for who is measured and another for the flood.
func (r *race) floodNode(b testing.TB) *Node {
	up := func() string {
		cmd := exec.Command(r.self, r.id.pairFile)
		cmd.Env = []string{roleVariable + "=upstream"}
		return r.firstLine(b, cmd)
	}
	return NewNode(b, Options{NoLab: true, Policy: map[string]string{"load": loadPolicy, "flood": floodPolicy}, Config: map[string]any{
		"upstream": map[string]any{
			"hosts":    map[string]string{"bench.example.test": up(), floodHost: up()},
			"ca_files": []string{r.id.certFile},
		},
	}})
}

const floodPolicy = `
caller: [cwd, tty, timeout, env]
write_paths: ["."]
egress_rules:
  - "GET,POST ` + floodHost + `/**"
  - "!* ` + floodHost + `/admin/**"
  - "GET *.leaf.example.test/**"
credential_proxy:
  - {type: https_bearer, target: ` + floodHost + `, source: {env: E2E_TOKEN}}
`

// flooding is the client of a jail that floods.
type flooding struct {
	enc *json.Encoder
	dec *json.Decoder
}

func (f *flooding) roll(job floodJob, res *floodResult) error {
	if err := f.enc.Encode(job); err != nil {
		return err
	}
	return f.dec.Decode(res)
}

func (r *race) floodJail(b testing.TB, n *Node) *flooding {
	dir := n.Workspace(b, Alice, nil)
	if out, err := exec.Command("install", "-m", "0755", r.self, dir+"/load").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	in, out := r.piped(b, n.Command(b, Ctl{UID: Alice, Dir: dir, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{
		"exec", "--policy", "flood", "--", "env", roleVariable + "=flood", "./load",
	}}))
	return &flooding{json.NewEncoder(in), json.NewDecoder(out)}
}

// playUpstream serves with the key pair in a file until its input ends: `upstream
// FILE`. It prints its address first.
func playUpstream(in io.Reader, out io.Writer) error {
	pair, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	cert, err := tls.X509KeyPair(pair, pair)
	if err != nil {
		return err
	}
	up := httptest.NewUnstartedServer(loadUpstream())
	up.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	up.StartTLS()
	fmt.Fprintln(out, up.Listener.Addr())
	_, err = io.Copy(io.Discard, in)
	return err
}

// cpuTime is the processor time that a process has used.
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the third of proc_pid_stat(5) is the first
	user, err1 := strconv.Atoi(fields[14-3])
	system, err2 := strconv.Atoi(fields[15-3])
	if err := errors.Join(err1, err2); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 everywhere
}
