package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// loadJob is one turn of a load: what a client is to fetch, and how.
type loadJob struct {
	Path    string
	Size    int64 // bytes of each reply's body; -1 for events that say when they were sent
	Clients int   // at once
	Each    int   // requests of every client; 0: as many as For allows
	For     time.Duration
	Fresh   bool // each on a connection of its own
}

// loadResult is how long it took.
type loadResult struct {
	Total    time.Duration
	Requests int
	Median   time.Duration // of one request, or of the way of one event
	P99      time.Duration // of 100 requests all but one are faster
	Err      string
}

// playLoad is a client of one way to the upstream: `load URL [PROXY [ADDRESS]]`. It
// connects to ADDRESS, where one is given, whatever the URL's host is. It does the
// jobs that it reads, one a line, until there are no more.
func playLoad(in io.Reader, out io.Writer) error {
	l := &load{base: os.Args[1]}
	if len(os.Args) > 2 && os.Args[2] != "" {
		var err error
		if l.proxy, err = url.Parse(os.Args[2]); err != nil {
			return err
		}
	}
	if len(os.Args) > 3 {
		l.address = os.Args[3]
	}
	l.kept = l.client(false)
	enc, dec := json.NewEncoder(out), json.NewDecoder(in)
	for {
		var job loadJob
		if err := dec.Decode(&job); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := enc.Encode(l.run(job)); err != nil {
			return err
		}
	}
}

type load struct {
	base    string
	proxy   *url.URL
	address string
	kept    *http.Client
}

// client trusts what SSL_CERT_FILE says. What it reads with is as large for all.
func (l *load) client(fresh bool) *http.Client {
	t := &http.Transport{
		TLSClientConfig: &tls.Config{}, DisableCompression: true, MaxIdleConnsPerHost: 64,
		ReadBufferSize: 64 << 10, DisableKeepAlives: fresh,
	}
	if l.proxy != nil {
		t.Proxy = http.ProxyURL(l.proxy)
	}
	if l.address != "" {
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, l.address)
		}
	}
	return &http.Client{Transport: t}
}

func (l *load) run(job loadJob) loadResult {
	c := l.kept
	if job.Fresh {
		c = l.client(true)
	}
	took := make([][]time.Duration, job.Clients)
	fails := make([]error, job.Clients)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range job.Clients {
		wg.Go(func() {
			for n := 0; job.Each > n || job.Each == 0 && time.Since(began) < job.For; n++ {
				took[i], fails[i] = l.fetch(c, job, took[i])
				if fails[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	r := loadResult{Total: time.Since(began)}
	if err := errors.Join(fails...); err != nil {
		r.Err = err.Error()
		return r
	}
	all := slices.Concat(took...)
	r.Requests = len(all)
	r.Median = median(all)
	slices.Sort(all)
	r.P99 = all[len(all)*99/100]
	return r
}

// fetch does one request of a job and adds how long it took.
func (l *load) fetch(c *http.Client, job loadJob, took []time.Duration) ([]time.Duration, error) {
	began := time.Now()
	resp, err := c.Get(l.base + job.Path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 1024))
		return nil, fmt.Errorf("%s: %s", resp.Status, b)
	}
	if job.Size < 0 {
		return waysOf(resp.Body, took)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != job.Size {
		return nil, fmt.Errorf("%d bytes of %d: %w", n, job.Size, err)
	}
	return append(took, time.Since(began)), nil
}

// waysOf adds how long each event was on its way: from when it says that it was
// sent until it was read.
func waysOf(r io.Reader, took []time.Duration) ([]time.Duration, error) {
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		now := time.Now()
		for line := range strings.Lines(string(buf[:n])) {
			var sent int64
			if _, err := fmt.Sscanf(line, "data: %d\n", &sent); err == nil {
				took = append(took, now.Sub(time.Unix(0, sent)))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return took, nil
		case err != nil:
			return nil, err
		}
	}
}
