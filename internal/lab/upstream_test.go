package lab

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

const token = "gho_lab_secret_0123456789"

func start(t *testing.T) *Upstream {
	t.Helper()
	u, err := NewUpstream(t.Context(), Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(u.Close(), u.Close()); err != nil {
			t.Error(err)
		}
	})
	return u
}

// browser is a client for which every name is the upstream.
func browser(t *testing.T, u *Upstream) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(u.CA()) {
		t.Fatal("no CA")
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, u.HTTPS().String())
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

func get(t *testing.T, c *http.Client, method, where, authorization string, body io.Reader) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, where, body)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := c.Do(req)
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

func TestOnlyTheTokenIsAuthorized(t *testing.T) {
	u := start(t)
	c := browser(t, u)
	basic := func(user, password string) string {
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	for _, given := range []struct {
		authorization string
		status        int
	}{
		{"token " + token, 200}, {"Bearer " + token, 200}, {basic("x-access-token", token), 200},
		{"", 401}, {"token oa_cred_placeholder", 401}, {basic(token, "x"), 401}, {token, 401},
	} {
		u.Forget()
		resp, body := get(t, c, "GET", "https://api.github.com/user", given.authorization, nil)
		seen := u.Seen()
		if resp.StatusCode != given.status || len(seen) != 1 || seen[0].Authorized != (given.status == 200) {
			t.Errorf("%q: %d %s, %+v", given.authorization, resp.StatusCode, body, seen)
		}
		if given.authorization != "" && seen[0].Authorization() != Fingerprint(given.authorization) {
			t.Errorf("fingerprint %q", seen[0].Authorization())
		}
	}
}

func TestReplies(t *testing.T) {
	u := start(t)
	c := browser(t, u)
	long := strings.Repeat("abc", 100000)
	some := new(strings.Builder)
	io.CopyN(some, Bytes(), 100000)
	for _, r := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/echo", long, 200, long},
		{"GET", "/bytes?n=100000", "", 200, some.String()},
		{"GET", "/chunked?n=2", "", 200, "chunk 0\nchunk 1\n"},
		{"GET", "/sse?n=2", "", 200, "data: 0\n\ndata: 1\n\n"},
		{"GET", "/hints", "", 200, "after hints\n"},
		{"GET", "/redirect?to=/x", "", 302, "<a href=\"/x\">Found</a>.\n\n"},
		{"GET", "/status?code=418", "", 418, ""},
		{"GET", "/slow?ms=1", "", 200, "at last\n"},
		{"POST", "/trailers", "abc", 200, "3 bytes\n"},
	} {
		resp, body := get(t, c, r.method, "https://example.test"+r.path, "", strings.NewReader(r.body))
		if resp.StatusCode != r.status || body != r.want {
			t.Errorf("%s: %d, %d bytes %.80q", r.path, resp.StatusCode, len(body), body)
		}
		if r.path == "/trailers" && resp.Trailer.Get("X-Sum") != Fingerprint("abc") {
			t.Errorf("trailer %v", resp.Trailer)
		}
	}
	if seen := u.Seen(); seen[0].Body != int64(len(long)) || seen[0].Host != "example.test" || !seen[0].TLS {
		t.Errorf("%+v", seen[0])
	}
}

func TestHoldIsLetGo(t *testing.T) {
	u := start(t)
	done := make(chan string)
	c := browser(t, u)
	go func() {
		resp, err := c.Get("https://example.test/hold")
		if err != nil {
			done <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		done <- string(b)
	}()
	for len(u.Seen()) == 0 {
		select {
		case early := <-done:
			t.Fatalf("answered early: %q", early)
		default:
		}
	}
	u.Release()
	if got := <-done; got != "released\n" {
		t.Fatalf("%q", got)
	}
}

func TestBadCertificatesAreBad(t *testing.T) {
	u := start(t)
	c := browser(t, u)
	for _, name := range []string{ExpiredName, WrongName, UntrustedName} {
		var bad *tls.CertificateVerificationError
		if _, err := c.Get("https://" + name + "/"); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if seen := u.Seen(); len(seen) != 0 {
		t.Errorf("a request came through: %+v", seen)
	}
	if n := u.Connections(); n != 3 {
		t.Errorf("%d connections", n)
	}
}

func TestOtherListeners(t *testing.T) {
	u := start(t)
	resp, err := http.Get("http://" + u.HTTP().String() + "/echo")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if seen := u.Seen(); seen[0].TLS || seen[0].Conn != 1 {
		t.Errorf("%+v", seen)
	}
	ssh, err := net.Dial("tcp", u.SSH().String())
	if err != nil {
		t.Fatal(err)
	}
	defer ssh.Close()
	if line, err := bufio.NewReader(ssh).ReadString('\n'); line != "SSH-2.0-lab\r\n" {
		t.Errorf("%q %v", line, err)
	}
	raw, err := net.Dial("tcp", u.TCP().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	raw.Write([]byte("ping"))
	answer := make([]byte, 4)
	if _, err := io.ReadFull(raw, answer); !bytes.Equal(answer, []byte("ping")) {
		t.Errorf("%q %v", answer, err)
	}
}

func TestUpstreamEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	u, err := NewUpstream(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	held, err := net.Dial("tcp", u.TCP().String())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	cancel()
	if _, err := held.Read(make([]byte, 1)); err == nil {
		t.Fatal("a connection outlived its upstream")
	}
	if err := u.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(u.dir); !os.IsNotExist(err) {
		t.Fatalf("its repositories stay: %v", err)
	}
}
