// Package apitest is a stand-in for omnijaild, for the tests of programs that
// talk to it. It authenticates nobody and starts nothing: a handler says what
// the daemon answers, and Accept plays the daemon's side of an exec.
//
// Clients send nothing to a server that is not root, so these tests need root.
package apitest

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Serve answers with h on a new socket until the test ends, and returns its path.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "apitest-") // short: a socket's path holds 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		srv.Serve(l)
		close(done)
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
		os.RemoveAll(dir)
	})
	return l.Addr().String()
}

// Exec is the daemon's side of an exec that was accepted.
type Exec struct {
	Request []byte     // the body
	Files   []*os.File // stdio, then the secrets; the Exec's
	Conn    *net.UnixConn
	lines   *bufio.Reader
}

// Accept agrees to the upgrade that r asks for and receives the descriptors.
func Accept(w http.ResponseWriter, r *http.Request) (*Exec, error) {
	e := &Exec{}
	var err error
	if e.Request, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	e.Conn = conn.(*net.UnixConn)
	e.lines = bufio.NewReader(e.Conn)
	_, err = io.WriteString(e.Conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
	if err = errors.Join(err, e.receive()); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Exec) receive() error {
	b, oob := make([]byte, 2), make([]byte, 4096)
	n, oobn, _, _, err := e.Conn.ReadMsgUnix(b, oob)
	if err != nil {
		return err
	}
	if n != 1 || b[0] != 0 {
		return errors.New("the descriptors must come with exactly one byte 0")
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return err
	}
	for _, m := range msgs {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return err
		}
		for _, fd := range fds {
			e.Files = append(e.Files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return nil
}

// Send sends an event as a JSON line, with descriptors.
func (e *Exec) Send(event any, files ...*os.File) error {
	b, err := json.Marshal(event)
	if err != nil {
		return err
	}
	var oob []byte
	for _, f := range files {
		oob = append(oob, unix.UnixRights(int(f.Fd()))...)
	}
	b = append(b, '\n')
	n, _, err := e.Conn.WriteMsgUnix(b, oob, nil)
	if err != nil {
		return err
	}
	_, err = e.Conn.Write(b[n:]) // a long message may go in parts
	return err
}

// Control reads the client's next line into out. io.EOF: it has gone.
func (e *Exec) Control(out any) error {
	line, err := e.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, out)
}

// Close ends the exec and closes its files.
func (e *Exec) Close() error {
	for _, f := range e.Files {
		f.Close()
	}
	return e.Conn.Close()
}
