package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The sizes that a start should hardly notice.
const (
	manyMasks = 200
	manyFiles = 100_000
	atOnce    = 16
)

// added reports how much longer than the last of the contenders each other takes,
// in milliseconds.
func added(b *testing.B, all ...*contender) {
	b.Helper()
	base := median(all[len(all)-1].took)
	for _, c := range all[:len(all)-1] {
		b.ReportMetric(float64((median(c.took)-base).Microseconds())/1000, c.name+"-added-ms")
	}
}

// BenchmarkWorkspaces: from a request to the command's first output in a
// workspace with 200 names to be hidden, one with 100,000 files in 1,000
// directories, and one with a single file.
func BenchmarkWorkspaces(b *testing.B) {
	s := newBench(b)
	hidden, large := map[string]string{"main.go": ""}, map[string]string{}
	for i := range manyMasks {
		hidden[fmt.Sprintf(".hidden-%d", i)] = ""
	}
	for i := range manyFiles {
		large[fmt.Sprintf("%d/%d/%d", i/10_000, i/100%100, i%100)] = ""
	}
	in := func(dir string) func() func() { return func() func() { return s.requestIn(b, Alice, dir) } }
	all := []*contender{
		{name: "masks", every: 1, run: in(s.n.Workspace(b, Alice, hidden))},
		{name: "files", every: 1, run: in(s.n.Workspace(b, Alice, large))},
		{name: "bare", every: 1, run: in(s.ws)},
	}
	for _, c := range all {
		c.run()()
	}
	turns(b, all...)
	added(b, all...)
}

// BenchmarkStartsAtOnce: sixteen requests one after the other, and sixteen at
// once. Where starts hold each other up, the second is no faster, and a processor
// idles.
func BenchmarkStartsAtOnce(b *testing.B) {
	s := newBench(b)
	s.request(b, Alice)()
	var single, many time.Duration
	var busy float64
	for b.Loop() {
		began := time.Now()
		for range atOnce {
			s.request(b, Alice)()
		}
		single += time.Since(began)
		idle, began := idleTime(b), time.Now()
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() { s.request(b, Alice)() })
		}
		all.Wait()
		took := time.Since(began)
		many += took
		busy += 1 - (idleTime(b)-idle).Seconds()/took.Seconds()/float64(processors(b))
	}
	turns := float64(b.N)
	b.ReportMetric(float64(single.Milliseconds())/turns, "one-by-one-ms")
	b.ReportMetric(float64(many.Milliseconds())/turns, "at-once-ms")
	b.ReportMetric(float64(single)/float64(many), "faster")
	b.ReportMetric(100*busy/turns, "%busy")
	b.ReportMetric(0, "ns/op")
}

// idleTime is how long the node's processors have had nothing to do, all added up.
func idleTime(b *testing.B) time.Duration {
	b.Helper()
	const tick = 10 * time.Millisecond // USER_HZ is 100 everywhere
	fields := strings.Fields(cpuLines(b)[0])
	idle, err := strconv.ParseInt(fields[4], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(idle) * tick
}

func processors(b *testing.B) int {
	b.Helper()
	n := 0
	for _, line := range cpuLines(b)[1:] {
		if strings.HasPrefix(line, "cpu") {
			n++
		}
	}
	return n
}

func cpuLines(b *testing.B) []string {
	b.Helper()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		b.Fatal(err)
	}
	return strings.Split(string(stat), "\n")
}
