package daemon

import "testing"

// A jail that was decided before access was tightened, and comes into the table
// after, is judged by what holds then: its client may have kept it waiting.
func TestS31_ADecisionDoesNotOutliveAReload(t *testing.T) {
	for name, c := range map[string]struct {
		epoch uint64
		ended bool
	}{
		"decided before": {0, true},
		"decided after":  {1, false},
	} {
		m := newTable()
		m.metrics = newMetrics()
		m.Revoke(func(Holding) string { return "withdrawn" })
		reason := ""
		x := &execution{m: m, plan: &Plan{Epoch: c.epoch}, j: testJail(t, func(r string) { reason = r })}
		x.register()
		if ended := reason == "withdrawn"; ended != c.ended {
			t.Errorf("%s: ended with %q", name, reason)
		}
	}
}
