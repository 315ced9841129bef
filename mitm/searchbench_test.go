package mitm

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
)

// searching returns two jails before one upstream, in turns of one run: the replies
// of one are searched for ten secrets, those of the other are not, because its ten
// credentials are for another host.
func searching(b *testing.B, h http.Handler) []*contestant {
	b.Helper()
	var out []*contestant
	for _, way := range []struct{ name, bound string }{{"searched", "api.test"}, {"unsearched", "other.test"}} {
		var bindings []creds.Binding
		for i := range 10 {
			one := bearer(fmt.Sprintf("%s/b%d/**", way.bound, i))
			one.Name, one.Env = fmt.Sprint("b", i), nil
			bindings = append(bindings, one)
		}
		r := newRig(b, options{rules: []string{"GET api.test/**", "GET other.test/**"}, bindings: bindings})
		for i := range bindings {
			s, err := creds.NewSecret(fmt.Appendf(nil, "ghp_%016x%016x%04x", rand.Uint64(), rand.Uint64(), i))
			if err != nil {
				b.Fatal(err)
			}
			r.table.Resolve(i, 1, s, nil)
		}
		out = append(out, &contestant{name: way.name, client: r.client(r.serve("api.test:443", h))})
	}
	return out
}

// BenchmarkSearchedBody carries 32 MB of JSON and of noise.
func BenchmarkSearchedBody(b *testing.B) {
	noise, text := make([]byte, 256<<10), make([]byte, 0, 257<<10)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for len(text) < len(noise) {
		text = fmt.Appendf(text, `{"id": %d, "node_id": "%x", "name": "Hello-World", "html_url": "https://github.com/octocat/%d"},`+"\n",
			rand.Uint32(), rand.Uint64(), rand.Uint32())
	}
	for name, chunk := range map[string][]byte{"json": text[:len(noise)], "noise": noise} {
		b.Run(name, func(b *testing.B) { benchBig(b, searching, chunk) })
	}
}

// BenchmarkSearchedEvents times an event of a stream from its sending to its arrival.
func BenchmarkSearchedEvents(b *testing.B) {
	const events = 200
	next := make(chan struct{})
	all := searching(b, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for range events {
			<-next
			io.WriteString(w, "data: {\"delta\":\"a few words of an answer\"}\n\n")
			w.(http.Flusher).Flush()
		}
	}))
	for b.Loop() {
		for _, c := range all {
			resp, err := c.client.Get("https://api.test/events")
			if err != nil {
				b.Fatal(err)
			}
			lines := bufio.NewReader(resp.Body)
			for range events {
				began := time.Now()
				next <- struct{}{}
				for range 2 {
					if _, err := lines.ReadString('\n'); err != nil {
						b.Fatal(err)
					}
				}
				c.spent += time.Since(began)
			}
			resp.Body.Close()
		}
	}
	for _, c := range all {
		b.ReportMetric(float64(c.spent.Microseconds())/float64(b.N*events), c.name+"-µs/event")
	}
	b.ReportMetric(0, "ns/op")
}
