package e2e

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// atOnce is how many starts are under way together.
const atOnce = 16

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
