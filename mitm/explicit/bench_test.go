package explicit_test

import (
	"io"
	"net/http"
	"testing"
	"time"
)

// BenchmarkJobs runs both jobs in turns, so that what else the machine does meets
// both alike. Each request is over TLS twice, on connections that are kept.
func BenchmarkJobs(b *testing.B) {
	for name, path := range map[string]string{"small": "/bytes?n=100", "16 MiB": "/bytes?n=16777216"} {
		b.Run(name, func(b *testing.B) {
			_, chain, front := jobs(b)
			spent := map[string]time.Duration{}
			for b.Loop() {
				for _, j := range []job{chain, front} {
					began := time.Now()
					fetch(b, j.client, path)
					spent[j.name] += time.Since(began)
				}
			}
			for job, d := range spent {
				b.ReportMetric(float64(d.Microseconds())/float64(b.N), job+"-µs/request")
			}
			b.ReportMetric(float64(spent["chain"])/float64(spent["front"]), "chain/front")
		})
	}
}

func fetch(b *testing.B, c *http.Client, path string) {
	resp, err := c.Get("https://" + site + path)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		b.Fatal(resp.Status, err)
	}
}
