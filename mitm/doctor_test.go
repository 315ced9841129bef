package mitm

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Nothing of a request comes back from the name that the egress process answers,
// and nothing but a read is answered.
func TestDoctorAnswersFixedPages(t *testing.T) {
	ask := func(method, path string) (*http.Response, string) {
		t.Helper()
		resp, err := doctor{}.RoundTrip(&http.Request{
			Method: method, URL: &url.URL{Opaque: path, RawQuery: "q=SECRET"}, Header: http.Header{"Authorization": {"SECRET"}},
			Body: io.NopCloser(strings.NewReader("SECRET")),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || method == "GET" && int64(len(b)) != resp.ContentLength || strings.Contains(string(b), "SECRET") {
			t.Errorf("%s %s: %v, %d bytes of %d: %q", method, path, err, len(b), resp.ContentLength, b)
		}
		return resp, string(b)
	}
	for path := range doctorPages {
		if resp, body := ask("GET", path); resp.StatusCode != 200 || !strings.Contains(body, "doctor") && !strings.Contains(body, "v1.0.0") {
			t.Errorf("%s: %d %q", path, resp.StatusCode, body)
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/SECRET", 404}, {"POST", "/", 405}, {"DELETE", "/SECRET", 405}, {"HEAD", "/", 200}} {
		if resp, body := ask(c.method, c.path); resp.StatusCode != c.status || body != "" {
			t.Errorf("%s %s: %d %q", c.method, c.path, resp.StatusCode, body)
		}
	}
}
