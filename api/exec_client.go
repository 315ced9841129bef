package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Session is a running exec seen from the client. Events are read by one
// goroutine, controls may be sent from any.
type Session struct {
	conn  *net.UnixConn
	lines *bufio.Reader
	fds   []int // descriptors that arrived with bytes not yet read
	mu    sync.Mutex
}

// Exec starts req's command with the three descriptors of stdio and one sealed
// memfd for each of req.SecretFDs. A refusal is an *Error. The end of ctx ends
// the start; a command that runs is ended by Close.
func (c *Client) Exec(ctx context.Context, req ExecRequest, stdio [3]*os.File, secrets []*os.File) (*Session, error) {
	if len(secrets) != len(req.SecretFDs) {
		return nil, fmt.Errorf("omnijail: internal error: %d secrets for %d names", len(secrets), len(req.SecretFDs))
	}
	return c.session(ctx, "/v1/exec", req, stdio, secrets)
}

// Create makes a session jail. The Session's events tell how it went: Started when
// it is there, then an Exit. Closing it leaves the jail alone.
func (c *Client) Create(ctx context.Context, req ExecRequest, secrets []*os.File) (*Session, error) {
	if len(secrets) != len(req.SecretFDs) {
		return nil, fmt.Errorf("omnijail: internal error: %d secrets for %d names", len(secrets), len(req.SecretFDs))
	}
	return c.withoutStdio(ctx, "/v1/jails", req, secrets)
}

// Change gives a live jail another policy together with the values of its env
// sources, one sealed memfd for each of change.SecretFDs. The Session's Exit says
// how it went.
func (c *Client) Change(ctx context.Context, id string, change PolicyChange, secrets []*os.File) (*Session, error) {
	if len(secrets) != len(change.SecretFDs) {
		return nil, fmt.Errorf("omnijail: internal error: %d secrets for %d names", len(secrets), len(change.SecretFDs))
	}
	return c.withoutStdio(ctx, "/v1/jails/"+url.PathEscape(id)+"/policy", change, secrets)
}

// withoutStdio asks for what runs no command.
func (c *Client) withoutStdio(ctx context.Context, path string, req any, secrets []*os.File) (*Session, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return c.session(ctx, path, req, [3]*os.File{null, null, null}, secrets)
}

// ExecIn starts one more command in the session jail called id.
func (c *Client) ExecIn(ctx context.Context, id string, req CommandRequest, stdio [3]*os.File) (*Session, error) {
	return c.session(ctx, "/v1/jails/"+url.PathEscape(id)+"/exec", req, stdio, nil)
}

// Detach starts a command in the session jail called id that outlives its client.
func (c *Client) Detach(ctx context.Context, id string, req CommandRequest) (Detached, error) {
	req.Detach = true
	var d Detached
	err := c.Post(ctx, "/v1/jails/"+url.PathEscape(id)+"/exec", req, &d)
	return d, err
}

// Attach joins the terminal of a detached command of a session jail: the one called
// command, or the one that the jail was created with where that is empty. The stream to it comes with the event that has PTY set. Closing the Session
// detaches, and leaves the command alone.
func (c *Client) Attach(ctx context.Context, id, command string, size Size) (*Session, error) {
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	s := &Session{conn: conn}
	path := "/v1/jails/" + url.PathEscape(id) + "/attach"
	if command != "" {
		path += "?" + url.Values{"command": {command}}.Encode()
	}
	early, err := s.upgrade(path, size)
	if err == nil {
		_, err = conn.Write([]byte{0})
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	s.lines = bufio.NewReaderSize(io.MultiReader(early, receiver{s}), 64<<10)
	return s, nil
}

func (c *Client) session(ctx context.Context, path string, req any, stdio [3]*os.File, secrets []*os.File) (*Session, error) {
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	s := &Session{conn: conn}
	early, err := s.upgrade(path, req)
	if err == nil {
		err = s.send(stdio, secrets)
	}
	if errors.Is(err, unix.EPIPE) {
		err = nil // it has ended the exec; what it said of that is still to be read
	}
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	s.lines = bufio.NewReaderSize(io.MultiReader(early, receiver{s}), 64<<10)
	return s, nil
}

// upgrade returns what the daemon said right behind its 101: an exec can end
// before it has its descriptors.
func (s *Session) upgrade(path string, req any) (early io.Reader, err error) {
	resp, br, err := exchange(s.conn, "POST", path, req, http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {UpgradeProtocol}, "Content-Type": {"application/json"},
	})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, readError(resp)
	}
	return io.LimitReader(br, int64(br.Buffered())), nil
}

// send is the one message that carries descriptors. It must come after the 101:
// an HTTP reader drops what arrives with bytes it reads.
func (s *Session) send(stdio [3]*os.File, secrets []*os.File) error {
	var fds []int
	for _, f := range append(stdio[:], secrets...) {
		fds = append(fds, int(f.Fd()))
	}
	if _, _, err := s.conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("hand over descriptors: %w", err)
	}
	return nil
}

// Next returns the next event. The file is the PTY's master when Event.PTY is
// set, else nil. io.EOF before an Exit event means that the daemon died.
func (s *Session) Next() (Event, *os.File, error) {
	line, err := s.lines.ReadBytes('\n')
	if err != nil {
		if len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return Event{}, nil, err
	}
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, nil, fmt.Errorf("read event: %w", err)
	}
	if e.PTY == nil {
		return e, nil, nil
	}
	if len(s.fds) == 0 {
		return e, nil, errors.New("omnijaild announced a terminal and sent none")
	}
	f := os.NewFile(uintptr(s.fds[0]), "pty")
	s.fds = s.fds[1:]
	return e, f, nil
}

// Control sends a signal or a resize.
func (s *Session) Control(c Control) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.conn.Write(append(b, '\n'))
	return err
}

// Close ends the exec if it still runs.
func (s *Session) Close() error {
	for _, fd := range s.fds {
		unix.Close(fd)
	}
	s.fds = nil
	return s.conn.Close()
}

// receiver reads bytes and keeps the descriptors that come with them.
type receiver struct{ s *Session }

func (r receiver) Read(b []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4*4))
	n, oobn, _, _, err := r.s.conn.ReadMsgUnix(b, oob)
	if n < 0 { // with an error, and no count for a reader
		n = 0
	}
	if oobn > 0 {
		msgs, perr := unix.ParseSocketControlMessage(oob[:oobn])
		if perr != nil {
			return n, perr
		}
		for i := range msgs {
			if fds, ferr := unix.ParseUnixRights(&msgs[i]); ferr == nil {
				for _, fd := range fds {
					unix.CloseOnExec(fd)
				}
				r.s.fds = append(r.s.fds, fds...)
			}
		}
	}
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}
