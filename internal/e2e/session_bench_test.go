package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// private is what a process has in memory for itself, in KiB.
func private(t testing.TB, pid int) (kib int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^Private_(?:Clean|Dirty): +(\d+) kB$`).FindAllStringSubmatch(string(b), -1) {
		n, _ := strconv.Atoi(m[1])
		kib += n
	}
	return kib
}

// BenchmarkIdleSessions makes b.N session jails and lets them be: what each costs in
// memory of omnijaild and its children, and whether the last ones take longer to
// make than the first.
func BenchmarkIdleSessions(b *testing.B) {
	n := NewNode(b, Options{})
	body, err := json.Marshal(map[string]any{
		"user": fmt.Sprintf("%d:%d", Alice, Alice), "cwd": n.Project(b, Alice),
		"policy": "offline", "add": map[string]any{"allow": []string{"GET example.test/**"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	create := func() time.Duration {
		began := time.Now()
		if a := ask(b, n, 0, "POST", "/v1/jails", string(body)); a.status != 201 {
			b.Fatalf("jail not made: %v", a)
		}
		return time.Since(began)
	}
	memory := func() (kib int) {
		for _, pid := range descendants(b, n.PID()) {
			kib += private(b, pid)
		}
		return kib
	}
	create() // the egress process is there then
	time.Sleep(15 * time.Second)
	before := memory()
	took := make([]time.Duration, b.N)
	b.ResetTimer()
	for i := range took {
		took[i] = create()
	}
	b.StopTimer()
	time.Sleep(15 * time.Second) // idle is what they are when the processes have come to rest
	part := max(1, b.N/10)
	b.ReportMetric(float64(memory()-before)/float64(b.N), "KiB/jail")
	b.ReportMetric(float64(median(took[:part]).Microseconds())/1000, "first-ms")
	b.ReportMetric(float64(median(took[b.N-part:]).Microseconds())/1000, "last-ms")
}
