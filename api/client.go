package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/omnijail/omnijail/internal/peercred"
)

// DefaultSocket is where omnijaild listens unless told otherwise.
const DefaultSocket = "/run/omnijail/omnijaild.sock"

// Client talks to omnijaild. The zero value is ready to use. A Client holds no
// connection; its methods may be called at the same time.
type Client struct {
	Socket string // absolute path; empty is DefaultSocket
}

// Dial connects and proves the server before a byte is sent. It returns a
// *DialError when there is nobody, or nobody trustworthy, to talk to.
func (c *Client) Dial(ctx context.Context) (*net.UnixConn, error) {
	path := c.Socket
	if path == "" {
		path = DefaultSocket
	}
	if path[0] != '/' {
		return nil, &DialError{Socket: path, Err: fmt.Errorf("the path must be absolute")}
	}
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(path) > most {
		return nil, &DialError{Socket: path, Err: fmt.Errorf("the path is longer than the %d bytes of a socket's", most)}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, &DialError{Socket: path, Err: err}
	}
	uc := conn.(*net.UnixConn)
	if err := peercred.CheckServer(uc, path); err != nil {
		uc.Close()
		return nil, &DialError{Socket: path, Err: err}
	}
	return uc, nil
}

// DialError says that no trustworthy daemon answered at Socket.
type DialError struct {
	Socket string
	Err    error
}

func (e *DialError) Error() string { return fmt.Sprintf("cannot use %s: %v", e.Socket, e.Err) }

// Unwrap returns the cause.
func (e *DialError) Unwrap() error { return e.Err }

// Get reads a JSON resource into out.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(ctx, "GET", path, nil, out)
}

// Post sends in as JSON and reads the answer into out, which may be nil.
func (c *Client) Post(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, "POST", path, in, out)
}

// Put sends in as JSON to take a resource's place and reads the answer into out.
func (c *Client) Put(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, "PUT", path, in, out)
}

// Delete removes a resource.
func (c *Client) Delete(ctx context.Context, path string) error {
	return c.call(ctx, "DELETE", path, nil, nil)
}

// Copy writes a resource that is no JSON to w, until the server ends it or ctx is
// done.
func (c *Client) Copy(ctx context.Context, path string, query url.Values, w io.Writer) error {
	resp, done, err := c.roundTrip(ctx, "GET", path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	defer done()
	if _, err = io.Copy(w, resp.Body); ctx.Err() != nil {
		return nil
	}
	return err
}

// DeleteInto removes resources and reads the answer into out.
func (c *Client) DeleteInto(ctx context.Context, path string, out any) error {
	return c.call(ctx, "DELETE", path, nil, out)
}

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	resp, done, err := c.roundTrip(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer done()
	if out == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 64<<20)).Decode(out)
}

// Stream reads JSON lines from path until the server ends, f fails or ctx is done.
func (c *Client) Stream(ctx context.Context, path string, query url.Values, f func(line []byte) error) error {
	resp, done, err := c.roundTrip(ctx, "GET", path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	defer done()
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if err := f(sc.Bytes()); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return sc.Err()
}

// roundTrip does one exchange on a connection of its own. done closes it.
func (c *Client) roundTrip(ctx context.Context, method, path string, in any) (*http.Response, func(), error) {
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	done := func() { stop(); conn.Close() }
	resp, _, err := exchange(conn, method, path, in, nil)
	if err == nil && resp.StatusCode/100 != 2 {
		err = readError(resp)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return resp, done, nil
}

func exchange(conn net.Conn, method, path string, in any, header http.Header) (*http.Response, *bufio.Reader, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, nil, err
		}
	}
	req, err := http.NewRequest(method, "http://omnijail"+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "omnijail")
	sent := req.Write(conn)
	if sent != nil && !errors.Is(sent, syscall.EPIPE) {
		return nil, nil, fmt.Errorf("send to omnijaild: %w", sent)
	}
	br := bufio.NewReader(conn)
	resp, err := http.ReadResponse(br, req) // also of a server that hung up: it may have said why
	if sent != nil && err != nil {
		return nil, nil, fmt.Errorf("send to omnijaild: %w", sent)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read from omnijaild: %w", err)
	}
	return resp, br, nil
}

func readError(resp *http.Response) error {
	var body struct{ Error Error }
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if json.Unmarshal(b, &body) != nil || body.Error.Code == "" {
		body.Error = Error{Code: "http", Reason: fmt.Sprintf("omnijaild answered %s", resp.Status)}
	}
	body.Error.Status = resp.StatusCode
	return &body.Error
}
