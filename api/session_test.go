package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/api/apitest"
)

// play serves execs with f and returns a client.
func play(t *testing.T, f func(e *apitest.Exec)) *api.Client {
	t.Helper()
	return &api.Client{Socket: apitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.URL.Path != "/v1/exec" || r.Header.Get("Upgrade") != api.UpgradeProtocol {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		e, err := apitest.Accept(w, r)
		if err != nil {
			t.Error(err)
			return
		}
		defer e.Close()
		f(e)
	}))}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func start(t *testing.T, c *api.Client) *api.Session {
	t.Helper()
	s, err := c.Exec(bounded(t), api.ExecRequest{Argv: []string{"true"}}, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestRequestAndDescriptorsArriveInOrder(t *testing.T) {
	req := api.ExecRequest{ArgvB64: [][]byte{[]byte("echo"), {0xff, 0xfe}}, CwdB64: []byte("/\xff"), SecretFDs: []string{"A", "B"}}
	var files, got []*os.File
	for range 5 {
		r, w := pipe(t)
		files, got = append(files, w), append(got, r)
	}
	c := play(t, func(e *apitest.Exec) {
		var sent api.ExecRequest
		if err := json.Unmarshal(e.Request, &sent); err != nil || !bytes.Equal(sent.ArgvB64[1], req.ArgvB64[1]) || !bytes.Equal(sent.CwdB64, req.CwdB64) {
			t.Errorf("request %s: %v", e.Request, err)
		}
		if len(e.Files) != len(files) {
			t.Errorf("%d descriptors", len(e.Files))
		}
		for i, f := range e.Files {
			f.WriteString(string(rune('a' + i)))
		}
		e.Send(api.Event{Exit: &api.Exit{}})
	})
	s, err := c.Exec(bounded(t), req, [3]*os.File(files[:3]), files[3:])
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if ev, _, err := s.Next(); err != nil || ev.Exit == nil {
		t.Fatalf("%+v, %v", ev, err)
	}
	for i, r := range got {
		b := make([]byte, 1)
		if _, err := io.ReadFull(r, b); err != nil || b[0] != byte('a'+i) {
			t.Errorf("descriptor %d is another: %q, %v", i, b, err)
		}
	}
	if _, err := c.Exec(bounded(t), req, [3]*os.File(files[:3]), nil); err == nil {
		t.Error("a name went without its secret")
	}
}

func TestEventsAndTheTerminalArrive(t *testing.T) {
	master, w := pipe(t)
	if _, err := w.WriteString("from the jail"); err != nil {
		t.Fatal(err)
	}
	events := []api.Event{
		{Started: &api.Started{Jail: "j1", Policy: "p", Guarantees: []string{"g"}}},
		{PTY: &api.Size{Rows: 3, Cols: 4}},
		{Denied: &api.Denied{ID: "7f3a", Kind: "request", What: strings.Repeat("x", 200<<10)}},
		{Note: &api.Note{Text: "n", Hint: "h"}},
		{Exit: &api.Exit{Code: 137, Signal: 9}},
	}
	s := start(t, play(t, func(e *apitest.Exec) {
		for _, ev := range events {
			var files []*os.File
			if ev.PTY != nil {
				files = append(files, master)
			}
			if err := e.Send(ev, files...); err != nil {
				t.Error(err)
			}
		}
	}))
	for i, want := range events {
		got, file, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) {
			t.Errorf("event %d: %.200s, want %.200s", i, a, b)
		}
		if (file != nil) != (want.PTY != nil) {
			t.Fatalf("event %d came with a descriptor: %v", i, file)
		}
		if file == nil {
			continue
		}
		b = make([]byte, 13)
		if _, err := io.ReadFull(file, b); err != nil || string(b) != "from the jail" {
			t.Errorf("the terminal is another: %q, %v", b, err)
		}
		file.Close()
	}
}

func TestControlsArrive(t *testing.T) {
	s := start(t, play(t, func(e *apitest.Exec) {
		for _, want := range []string{`{"signal":15}`, `{"resize":{"rows":1,"cols":2}}`} {
			var got json.RawMessage
			if err := e.Control(&got); err != nil || string(got) != want {
				t.Errorf("control %s, %v; want %s", got, err, want)
			}
		}
		var got any
		if err := e.Control(&got); !errors.Is(err, io.EOF) {
			t.Errorf("after the client's close: %v, %v", got, err)
		}
	}))
	for _, c := range []api.Control{{Signal: 15}, {Resize: &api.Size{Rows: 1, Cols: 2}}} {
		if err := s.Control(c); err != nil {
			t.Error(err)
		}
	}
	s.Close()
}

func TestAnExecThatEndsWithoutAnExit(t *testing.T) {
	for name, tt := range map[string]struct {
		last string
		want error
	}{
		"between events": {"", io.EOF}, "within one": {`{"exit":{"code":0`, io.ErrUnexpectedEOF},
		"no JSON": {"x\n", nil}, "a terminal announced and not sent": {`{"pty":{"rows":1,"cols":1}}` + "\n", nil},
	} {
		s := start(t, play(t, func(e *apitest.Exec) { io.WriteString(e.Conn, tt.last) }))
		ev, _, err := s.Next()
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || ev.Exit != nil {
			t.Errorf("%s: %+v, %v; want %v", name, ev, err, tt.want)
		}
	}
}

// A daemon that is killed leaves what it had not read: the kernel then says reset
// instead of end, and gives no count of bytes.
func TestADaemonThatDiesBeforeItReads(t *testing.T) {
	sent := make(chan struct{})
	s := start(t, play(t, func(*apitest.Exec) { <-sent }))
	if err := s.Control(api.Control{Signal: 15}); err != nil {
		t.Fatal(err)
	}
	close(sent)
	if ev, _, err := s.Next(); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("%+v, %v", ev, err)
	}
}

// An exec can end before it has its descriptors, and its daemon hang up: why is
// right behind the 101, and no broken pipe hides it.
func TestAnExecThatEndsBeforeItsDescriptors(t *testing.T) {
	c := &api.Client{Socket: apitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: omnijail-exec\r\n\r\n"+`{"exit":{"code":125,"reason":"gone"}}`+"\n")
	}))}
	s := start(t, c)
	if ev, _, err := s.Next(); err != nil || ev.Exit == nil || ev.Exit.Reason != "gone" {
		t.Errorf("%+v, %v", ev, err)
	}
	if ev, _, err := s.Next(); err == nil {
		t.Errorf("after the exit: %+v", ev)
	}
}

func TestTheEndOfTheContextEndsAStart(t *testing.T) {
	ctx, cancel := context.WithCancel(bounded(t))
	c := &api.Client{Socket: apitest.Serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel() // the client waits for an answer now
		<-r.Context().Done()
	}))}
	_, err := c.Exec(ctx, api.ExecRequest{}, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
