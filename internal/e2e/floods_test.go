package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// floodJob is one turn of a jail that floods.
type floodJob struct {
	Flood string
	For   time.Duration
}

// floodResult is how much of it there was. That some of it is refused is the point.
type floodResult struct{ Pieces int64 }

// wave is one kind of flood: so many workers repeat the same piece.
type wave struct {
	workers int
	piece   func(*flooder) error
}

// The host that a flood asks for, and what it sends there.
const (
	floodHost = "flood.example.test"
	floodGet  = "GET /small HTTP/1.1\r\nHost: " + floodHost + "\r\n"
	denyGet   = "GET /admin/x HTTP/1.1\r\nHost: " + floodHost + "\r\n"
	bodyHead  = "POST %s HTTP/1.1\r\nHost: " + floodHost + "\r\nContent-Length: %d\r\n\r\n"
)

// A jail may have 256 connections: floods of connections make more, those over
// connections that stay use nearly all.
const (
	tooMany = 300
	most    = 250
)

// waves are the floods by name.
var waves = map[string]wave{
	"computing":       {8, (*flooder).compute},
	"new connections": {tooMany, func(f *flooder) error { return f.fresh(floodGet + "Connection: close\r\n\r\n") }},
	"new and denied":  {tooMany, func(f *flooder) error { return f.fresh(denyGet + "Connection: close\r\n\r\n") }},
	"half handshakes": {tooMany, (*flooder).half},
	"leaves":          {64, (*flooder).leaf},
	"requests":        {most, func(f *flooder) error { return f.kept(floodGet + "\r\n") }},
	"denied requests": {most, func(f *flooder) error { return f.kept(denyGet + "\r\n") }},
	"heads":           {most, (*flooder).heads},
	"h2 streams":      {most, (*flooder).stream},
	"h2 resets":       {32, (*flooder).resets},
	"bodies down":     {32, (*flooder).download},
	"bodies up":       {32, func(f *flooder) error { return f.upload("/sink") }},
	"denied bodies":   {most, func(f *flooder) error { return f.upload("/admin/x") }},
	"names":           {64, (*flooder).lookup},
	"packets":         {4, (*flooder).packets},
}

// playFlood floods: it does the jobs that it reads, one a line, until there are no
// more.
func playFlood(in io.Reader, out io.Writer) error {
	addrs, err := net.LookupHost(floodHost)
	if err != nil {
		return err
	}
	enc, dec := json.NewEncoder(out), json.NewDecoder(in)
	for {
		var job floodJob
		if err := dec.Decode(&job); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		w, ok := waves[job.Flood]
		if !ok {
			return fmt.Errorf("no such flood: %s", job.Flood)
		}
		if err := enc.Encode(w.roll(addrs[0], job.For)); err != nil {
			return err
		}
	}
}

// roll has all workers repeat the piece until the time is over.
func (w wave) roll(addr string, d time.Duration) floodResult {
	end := time.Now().Add(d)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	var pieces atomic.Int64
	var all sync.WaitGroup
	streams := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: insecure()}
	streams.Protocols.SetHTTP2(true)
	streams.TLSClientConfig.ServerName = floodHost
	defer streams.CloseIdleConnections()
	for range w.workers {
		all.Go(func() {
			f := &flooder{ctx: ctx, end: end, addr: addr, streams: streams}
			defer f.drop()
			for ctx.Err() == nil {
				if w.piece(f) != nil {
					f.drop()
					continue
				}
				pieces.Add(1)
			}
		})
	}
	all.Wait()
	return floodResult{pieces.Load()}
}

// flooder is one worker of a wave.
type flooder struct {
	ctx     context.Context
	end     time.Time
	addr    string   // of floodHost, so that no flood but that of names looks it up
	conn    net.Conn // that is kept, nil when there is none
	br      *bufio.Reader
	streams *http.Transport // of all workers
}

// insecure is what a flood saves itself: it does not care who answers.
func insecure() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

func (f *flooder) drop() {
	if f.conn != nil {
		f.conn.Close()
		f.conn = nil
	}
}

func (f *flooder) dial(addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(f.ctx, "tcp", net.JoinHostPort(addr, "443"))
	if err == nil {
		c.SetDeadline(f.end)
	}
	return c, err
}

func (f *flooder) tls(addr, host string, protocols ...string) (*tls.Conn, error) {
	c, err := f.dial(addr)
	if err != nil {
		return nil, err
	}
	config := insecure()
	config.ServerName, config.NextProtos = host, protocols
	tc := tls.Client(c, config)
	if err := tc.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	return tc, nil
}

// connected makes the connection that is kept, if it is not there.
func (f *flooder) connected() error {
	if f.conn != nil {
		return nil
	}
	c, err := f.tls(f.addr, floodHost)
	if err == nil {
		f.conn, f.br = c, bufio.NewReader(c)
	}
	return err
}

func (f *flooder) answered() error {
	resp, err := http.ReadResponse(f.br, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func (f *flooder) compute() error {
	for sum := 0; sum < 1<<20; sum++ {
	}
	return nil
}

func (f *flooder) kept(request string) error {
	if err := f.connected(); err != nil {
		return err
	}
	if _, err := io.WriteString(f.conn, request); err != nil {
		return err
	}
	return f.answered()
}

func (f *flooder) fresh(request string) error {
	defer f.drop()
	return f.kept(request)
}

// heads sends a head that is too long, and does not look at the answer.
func (f *flooder) heads() error {
	c, err := f.tls(f.addr, floodHost)
	if err != nil {
		return err
	}
	defer c.Close()
	io.WriteString(c, floodGet+strings.Repeat("X-A: "+strings.Repeat("a", 500)+"\r\n", 120))
	c.Read(make([]byte, 1))
	return nil
}

func (f *flooder) half() error {
	c, err := f.dial(f.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("\x16\x03\x01\x02\x00\x01"))
	return err
}

func (f *flooder) leaf() error {
	name := strings.ToLower(rand.Text()) + ".leaf.example.test"
	c, err := f.tls(name, name)
	if err != nil {
		return err
	}
	return c.Close()
}

func (f *flooder) stream() error {
	req, err := http.NewRequestWithContext(f.ctx, "GET", "https://"+net.JoinHostPort(f.addr, "443")+"/small", nil)
	if err != nil {
		return err
	}
	req.Host = floodHost
	resp, err := f.streams.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// resets begins streams and resets them, until the connection is ended for it.
func (f *flooder) resets() error {
	c, err := f.tls(f.addr, floodHost, "h2")
	if err != nil {
		return err
	}
	defer c.Close()
	go io.Copy(io.Discard, c)
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return err
	}
	fr := http2.NewFramer(c, nil)
	fr.WriteSettings()
	var head bytes.Buffer
	enc := hpack.NewEncoder(&head)
	for id := uint32(1); ; id += 2 {
		head.Reset()
		for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", floodHost}, {":path", "/small"}} {
			enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
		}
		if fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true}) != nil ||
			fr.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			return nil
		}
	}
}

func (f *flooder) download() error {
	return f.kept("GET /big HTTP/1.1\r\nHost: " + floodHost + "\r\n\r\n")
}

func (f *flooder) upload(path string) error {
	if err := f.connected(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f.conn, bodyHead, path, bigBody); err != nil {
		return err
	}
	chunk := make([]byte, 64<<10)
	for range bigBody / len(chunk) {
		if _, err := f.conn.Write(chunk); err != nil {
			f.drop() // a denied one is not taken
			return nil
		}
	}
	return f.answered()
}

// lookup asks for a name that no rule has.
func (f *flooder) lookup() error {
	_, err := net.DefaultResolver.LookupHost(f.ctx, rand.Text()+".denied.test.")
	if missing := new(net.DNSError); errors.As(err, &missing) && missing.IsNotFound {
		return nil
	}
	return err
}

// packets sends to where nothing goes but what is refused.
func (f *flooder) packets() error {
	c, err := net.Dial("udp", "203.0.113.9:9")
	if err != nil {
		return err
	}
	defer c.Close()
	for range 1000 {
		c.Write([]byte("x")) // it fails for every other one: the kernel says that it refused
	}
	return nil
}
