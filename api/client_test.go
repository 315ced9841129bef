package api_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/api/apitest"
)

// bounded ends what hangs; no test passes because it expired.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestRefusalsArriveWhole(t *testing.T) {
	want := api.Error{
		Status: 422, Code: "policy", Reason: "the policy does not hold", Fix: "mend it", ID: "7f3a",
		Positions: []api.Position{
			{File: "./p.yaml", Line: 3, Col: 5, Key: "egress_rules[0]", Msg: "no method", Fix: "GET …"},
			{Msg: "elsewhere"},
		},
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   api.Error
	}{
		"an error of the daemon's": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(422)
			w.Write([]byte(`{"error":{"code":"policy","reason":"the policy does not hold","fix":"mend it","id":"7f3a","positions":[
				{"file":"./p.yaml","line":3,"col":5,"key":"egress_rules[0]","msg":"no method","fix":"GET …"},{"msg":"elsewhere"}],"new":1}}`))
		}, want},
		"no JSON":        {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>", http.StatusServiceUnavailable) }, api.Error{Status: 503, Code: "http", Reason: "omnijaild answered 503 Service Unavailable"}},
		"another's JSON": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); w.Write([]byte(`{"message":"x"}`)) }, api.Error{Status: 500, Code: "http", Reason: "omnijaild answered 500 Internal Server Error"}},
	} {
		c := &api.Client{Socket: apitest.Serve(t, tt.answer)}
		calls := map[string]func() error{
			"Get":    func() error { return c.Get(bounded(t), "/v1/jails", nil, nil) },
			"Post":   func() error { return c.Post(bounded(t), "/v1/drain", api.Drain{}, nil) },
			"Delete": func() error { return c.Delete(bounded(t), "/v1/jails/x") },
			"Stream": func() error { return c.Stream(bounded(t), "/v1/events", nil, nil) },
			"Exec": func() error {
				_, err := c.Exec(bounded(t), api.ExecRequest{}, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, nil)
				return err
			},
		}
		for call, f := range calls {
			var got *api.Error
			if err := f(); !errors.As(err, &got) || !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("%s, %s: %+v, want %+v", name, call, err, tt.want)
			}
		}
	}
}

func TestResourcesAndStreams(t *testing.T) {
	c := &api.Client{Socket: apitest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "omnijail" || r.Header.Get("Origin")+r.Header.Get("Referer") != "" {
			t.Errorf("asked as %q with %v", r.Host, r.Header)
		}
		switch r.Method + " " + r.URL.String() {
		case "GET /v1/version":
			w.Write([]byte(`{"version":"1.2","api":[1]}`))
		case "GET /v1/events?jail=a%26b":
			w.Write([]byte("{\"n\":1}\n{\"n\":2}\n"))
		default:
			t.Errorf("unexpected %s %s", r.Method, r.URL)
		}
	}))}
	var v api.Version
	if err := c.Get(bounded(t), "/v1/version", nil, &v); err != nil || v.Version != "1.2" {
		t.Errorf("got %+v, %v", v, err)
	}
	var lines []string
	err := c.Stream(bounded(t), "/v1/events", url.Values{"jail": {"a&b"}}, func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	})
	if err != nil || strings.Join(lines, " ") != `{"n":1} {"n":2}` {
		t.Errorf("got %q, %v", lines, err)
	}
}

func TestNobodyListens(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for socket, want := range map[string]error{dir + "/none": fs.ErrNotExist, dead: unix.ECONNREFUSED} {
		var got *api.DialError
		err := (&api.Client{Socket: socket}).Get(bounded(t), "/v1/version", nil, nil)
		if !errors.As(err, &got) || got.Socket != socket || !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", socket, err, want)
		}
	}
	if err := (&api.Client{Socket: "s"}).Get(bounded(t), "/", nil, nil); err == nil || !strings.Contains(err.Error(), "must be absolute") {
		t.Errorf("a relative path: %v", err)
	}
}
