package mitm

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestBuffersStayWithTheirReader breaks connections off while their body is on
// its way, and holds that no byte of one turns up in another: a read buffer goes
// back to the pool only when no transport can read from it any more. The race
// detector sees what the comparison may miss.
func TestBuffersStayWithTheirReader(t *testing.T) {
	r := newRig(t, options{rules: []string{"POST api.test"}})
	addr := r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		w.(http.Flusher).Flush()
		io.Copy(w, req.Body)
	}})
	var clients sync.WaitGroup
	for i := range 8 {
		mark := strings.Repeat(string(rune('a'+i)), 512)
		clients.Go(func() {
			for range 4 {
				c := r.dialTLS(addr, "api.test")
				io.WriteString(c, "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n")
				go func() {
					for {
						if _, err := io.WriteString(c, "200\r\n"+mark+"\r\n"); err != nil {
							return
						}
					}
				}()
				c.SetReadDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Error(err)
					return
				}
				got := make([]byte, 4096)
				if _, err := io.ReadFull(resp.Body, got); err != nil || strings.Trim(string(got), mark[:1]) != "" {
					t.Errorf("%v %.20q", err, got)
				}
				c.NetConn().Close()
			}
		})
	}
	clients.Wait()
}
