package e2e

import "testing"

// BenchmarkNeighbourUnderFlood measures the requests of one jail while another of the
// same user, served by the same egress process, makes connections as fast as it can,
// and more at once than a jail may have; in turns with the same requests without it.
func BenchmarkNeighbourUnderFlood(b *testing.B) {
	r := newRace(b)
	n := r.node(b)
	r.addJail(b, n, "neighbour")
	r.addJail(b, n, "flood")
	neighbour, flood := r.ways[0], r.ways[1]
	job := loadJob{Path: "/small", Size: 23, Clients: 1, Each: 300}
	connections := loadJob{Path: "/small", Size: 23, Clients: 300, Each: 20, Fresh: true}
	neighbour.turn(b, job) // its connection is there then

	var alone, under, ratios []float64
	for b.Loop() {
		quiet := neighbour.turn(b, job)
		over := make(chan error, 1)
		go func() { over <- flood.do(connections, &loadResult{}) }() // that some are refused is the point
		loud := neighbour.turn(b, job)
		if err := <-over; err != nil {
			b.Fatal(err)
		}
		alone = append(alone, float64(quiet.P99.Microseconds()))
		under = append(under, float64(loud.P99.Microseconds()))
		ratios = append(ratios, float64(loud.P99)/float64(quiet.P99))
	}
	b.ReportMetric(middle(alone), "alone-p99-us")
	b.ReportMetric(middle(under), "flooded-p99-us")
	b.ReportMetric(middle(ratios), "flooded/alone")
	b.ReportMetric(0, "ns/op")
}
