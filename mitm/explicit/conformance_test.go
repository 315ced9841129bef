package explicit_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/lab"
)

// TestConformance is the table by which the library's job was chosen, in the words
// of docs/adr/0010. A new release that changes a cell fails here, so that the
// choice is looked at again.
func TestConformance(t *testing.T) {
	for _, row := range []struct {
		name         string
		try          func(*testing.T, *lab.Upstream, job) string
		chain, front string
	}{
		{"h1", plain, "yes", "yes"},
		{"h2", overHTTP2, "yes", "yes"},
		{"CONNECT", connects, "not its job", "yes"},
		{"early ClientHello", early, "not its job", "yes"},
		{"SSE", streams("text/event-stream"), "yes", "yes"},
		{"NDJSON", streams("application/x-ndjson"), "held back", "yes"},
		{"WebSocket", webSocket, "yes", "yes"},
		{"trailers", trailers, "yes", "yes"},
		{"100-continue", continues, "yes", "yes"},
		{"header flood", flood, "431", "431"},
		{"encodings of the client", encodings, "taken off", "yes"},
		{"dial error", unreachable, "shown to the client", "502"},
	} {
		up, chain, front := jobs(t)
		for _, c := range []struct {
			job  job
			want string
		}{{chain, row.chain}, {front, row.front}} {
			t.Run(row.name+"/"+c.job.name, func(t *testing.T) {
				if got := row.try(t, up, c.job); got != c.want {
					t.Errorf("%s, the table says %s", got, c.want)
				}
			})
		}
	}
}

// patience bounds a hang of what must work, and how long the other job is given to
// show that it does not.
func patience(j job) time.Duration {
	if j.name == "front" {
		return 20 * time.Second
	}
	return time.Second
}

func connect(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

const connectSite = "CONNECT " + site + ":443 HTTP/1.1\r\nHost: " + site + ":443\r\n\r\n"

// tunnel asks for one to site and returns it.
func tunnel(t testing.TB, c net.Conn) net.Conn {
	t.Helper()
	io.WriteString(c, connectSite)
	if head := readHead(t, c); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
		t.Fatalf("%q", head)
	}
	return c
}

// readHead reads one head and not a byte more.
func readHead(t testing.TB, c io.Reader) string {
	t.Helper()
	var head strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(head.String(), "\r\n\r\n"); head.Write(one) {
		if _, err := io.ReadFull(c, one); err != nil {
			t.Fatalf("after %q: %v", head.String(), err)
		}
	}
	return head.String()
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func plain(t *testing.T, _ *lab.Upstream, j job) string {
	if resp, body := get(t, j.client, "https://"+site+"/bytes?n=300000"); resp.ProtoMajor != 1 || len(body) != 300000 {
		return fmt.Sprintf("%s, %d bytes", resp.Proto, len(body))
	}
	return "yes"
}

func overHTTP2(t *testing.T, _ *lab.Upstream, j job) string {
	if resp, body := get(t, j.http2, "https://"+site+"/bytes?n=300000"); resp.ProtoMajor != 2 || len(body) != 300000 {
		return fmt.Sprintf("%s, %d bytes", resp.Proto, len(body))
	}
	return "yes"
}

func connects(t *testing.T, _ *lab.Upstream, j job) string {
	if j.raw == nil {
		return "not its job"
	}
	tunnel(t, j.raw())
	return "yes"
}

// early sends the ClientHello with the CONNECT.
func early(t *testing.T, _ *lab.Upstream, j job) string {
	if j.raw == nil {
		return "not its job"
	}
	near, far := net.Pipe()
	go tls.Client(near, &tls.Config{ServerName: site, InsecureSkipVerify: true}).HandshakeContext(t.Context())
	hello := make([]byte, 16<<10)
	n, err := far.Read(hello)
	if err != nil {
		t.Fatal(err)
	}
	far.Close()
	c := j.raw()
	c.SetDeadline(time.Now().Add(patience(j)))
	c.Write(append([]byte(connectSite), hello[:n]...))
	readHead(t, c)
	record := make([]byte, 1)
	if _, err := io.ReadFull(c, record); err != nil || record[0] != 0x16 {
		return fmt.Sprintf("%v %v", record, err)
	}
	return "yes"
}

// streams has the upstream send a second line only when the client has the first.
func streams(contentType string) func(*testing.T, *lab.Upstream, job) string {
	return func(t *testing.T, up *lab.Upstream, j job) string {
		arrived := make(chan struct{})
		up.Serve(site, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			io.WriteString(w, "one\n")
			http.NewResponseController(w).Flush()
			select {
			case <-arrived:
			case <-r.Context().Done():
			}
			io.WriteString(w, "two\n")
		}))
		defer close(arrived)
		line := make(chan string, 1)
		go func() {
			resp, err := j.client.Get("https://" + site + "/")
			if err == nil {
				s, _ := bufio.NewReader(resp.Body).ReadString('\n')
				resp.Body.Close()
				line <- s
			}
		}()
		select {
		case <-line:
			return "yes"
		case <-time.After(patience(j)):
			return "held back"
		}
	}
}
