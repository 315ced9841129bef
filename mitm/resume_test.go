package mitm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// speakers are the two protocols of a client, with an upstream that speaks both.
var speakers = map[string]func(*rig, string) *http.Client{"h2": (*rig).http2Client, "http/1.1": (*rig).client}

// TestRangeDownload breaks a download off and fetches the rest.
func TestRangeDownload(t *testing.T) {
	content, _ := io.ReadAll(pattern(3 << 20))
	for name, client := range speakers {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{rules: []string{"GET,HEAD api.test/file"}})
			c := client(r, r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Etag", `"v1"`)
				http.ServeContent(w, req, "file", time.Unix(1e9, 0), bytes.NewReader(content))
			}}))
			fetch := func(method string, lines map[string]string) *http.Response {
				req, err := http.NewRequest(method, "https://api.test/file", nil)
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range lines {
					req.Header.Set(k, v)
				}
				resp, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				return resp
			}
			head := fetch("HEAD", nil)
			head.Body.Close()
			if head.ContentLength != int64(len(content)) || head.Header.Get("Accept-Ranges") != "bytes" {
				t.Errorf("HEAD says %d %v", head.ContentLength, head.Header)
			}
			whole := fetch("GET", nil)
			first, _ := io.ReadAll(io.LimitReader(whole.Body, 1<<20))
			whole.Body.Close()
			part := fetch("GET", map[string]string{"Range": fmt.Sprintf("bytes=%d-", len(first)), "If-Range": `"v1"`})
			rest, err := io.ReadAll(part.Body)
			part.Body.Close()
			if part.StatusCode != 206 || err != nil || !bytes.Equal(append(first, rest...), content) {
				t.Errorf("the rest: %d, %d bytes, %v, %v", part.StatusCode, len(rest), part.Header, err)
			}
			several := fetch("GET", map[string]string{"Range": "bytes=0-9,100-109"})
			parts, _ := io.ReadAll(several.Body)
			several.Body.Close()
			if several.StatusCode != 206 || !strings.HasPrefix(several.Header.Get("Content-Type"), "multipart/byteranges") || !bytes.Contains(parts, content[100:110]) {
				t.Errorf("two ranges: %d %v", several.StatusCode, several.Header)
			}
			beyond := fetch("GET", map[string]string{"Range": "bytes=99999999-"})
			beyond.Body.Close()
			if beyond.StatusCode != 416 || beyond.Header.Get("Content-Range") == "" {
				t.Errorf("beyond the end: %d %v", beyond.StatusCode, beyond.Header)
			}
			if not := fetch("GET", map[string]string{"If-None-Match": `"v1"`}); not.StatusCode != 304 || not.ContentLength > 0 {
				t.Errorf("not modified: %d", not.StatusCode)
			}
		})
	}
}

// TestResumableUpload breaks an upload off, asks how much has arrived, and sends
// the rest, as the protocols of object stores do.
func TestResumableUpload(t *testing.T) {
	content, _ := io.ReadAll(pattern(2 << 20))
	for name, client := range speakers {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{rules: []string{"POST,HEAD,PATCH api.test/up/**"}})
			var stored bytes.Buffer
			parts := make(chan error, 2)
			c := client(r, r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
				switch req.Method {
				case "POST":
					w.Header().Set("Location", "https://api.test/up/1")
					w.WriteHeader(201)
				case "HEAD":
					w.Header().Set("Upload-Offset", strconv.Itoa(stored.Len()))
					w.WriteHeader(204)
				case "PATCH":
					_, err := io.Copy(&stored, req.Body)
					parts <- err
					w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", stored.Len()-1))
					w.WriteHeader(308) // what one store answers between parts
				}
			}}))
			do := func(method string, body io.Reader, length int64) (*http.Response, error) {
				req, err := http.NewRequest(method, "https://api.test/up/1", body)
				if err != nil {
					t.Fatal(err)
				}
				req.ContentLength = length
				c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
				resp, err := c.Do(req)
				if err == nil {
					resp.Body.Close()
				}
				return resp, err
			}
			if resp, err := do("POST", nil, 0); err != nil || resp.StatusCode != 201 {
				t.Fatal(resp, err)
			}
			broken := io.MultiReader(bytes.NewReader(content[:1<<20]), failing{})
			if _, err := do("PATCH", broken, int64(len(content))); err == nil {
				t.Error("a broken upload has a reply")
			}
			if err := <-parts; err == nil {
				t.Error("the upstream took half a body for a whole one")
			}
			resp, err := do("HEAD", nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			at, _ := strconv.Atoi(resp.Header.Get("Upload-Offset"))
			if resp, err = do("PATCH", bytes.NewReader(content[at:]), int64(len(content)-at)); err != nil || resp.StatusCode != 308 {
				t.Fatal(resp, err)
			}
			if err := <-parts; err != nil || !bytes.Equal(stored.Bytes(), content) {
				t.Errorf("%d bytes of %d arrived, the second part from %d on: %v", stored.Len(), len(content), at, err)
			}
		})
	}
}

// failing is the end of a connection in the middle of a body.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the client has had enough") }

// TestLongPoll answers a request only when another one has come.
func TestLongPoll(t *testing.T) {
	for name, client := range speakers {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{rules: []string{"* api.test"}})
			events := make(chan string)
			c := client(r, r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
				if req.Method == "POST" {
					b, _ := io.ReadAll(req.Body)
					events <- string(b)
					return
				}
				select {
				case e := <-events:
					io.WriteString(w, e)
				case <-req.Context().Done():
				}
			}}))
			for i := range 3 {
				got := make(chan string)
				go func() {
					resp, err := c.Get("https://api.test/poll")
					if err != nil {
						t.Error(err)
						close(got)
						return
					}
					defer resp.Body.Close()
					b, _ := io.ReadAll(resp.Body)
					got <- string(b)
				}()
				if _, err := c.Post("https://api.test/event", "text/plain", strings.NewReader(fmt.Sprint("event ", i))); err != nil {
					t.Fatal(err)
				}
				if e := <-got; e != fmt.Sprint("event ", i) {
					t.Errorf("poll %d got %q", i, e)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			req, _ := http.NewRequestWithContext(ctx, "GET", "https://api.test/poll", nil)
			go cancel()
			if _, err := c.Do(req); err == nil {
				t.Error("a poll that was given up has a reply")
			}
		})
	}
}

// TestHTTP2ServerSentEvents: TestServerSentEvents over HTTP/2.
func TestHTTP2ServerSentEvents(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	next := make(chan int)
	readEvents(t, r.http2Client(r.serveHTTP2("api.test:443", sending(next))), next)
}
