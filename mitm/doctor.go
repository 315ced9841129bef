package mitm

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

// page is one fixed answer.
type page struct{ kind, body string }

// doctorPages are what tools ask of their servers, by path: enough of each service
// for one read. Nothing of a request is ever in an answer.
var doctorPages = map[string]page{
	"/": {"text/plain", "omnijail-doctor\n"},
	"/git/info/refs": {"application/x-git-upload-pack-advertisement", packet("# service=git-upload-pack\n") + "0000" +
		packet("0123456789abcdef0123456789abcdef01234567 refs/heads/omnijail-doctor\x00agent=omnijail\n") + "0000"},
	"/api/v3/user": {"application/json", `{"login":"omnijail-doctor"}`},
	"/npm/omnijail-doctor": {"application/json", `{"name":"omnijail-doctor","dist-tags":{"latest":"1.0.0"},` +
		`"versions":{"1.0.0":{"name":"omnijail-doctor","version":"1.0.0","dist":{"tarball":"https://` + egress.DoctorHost + `/npm/none.tgz"}}}}`},
	"/simple/omnijail-doctor/": {"text/html",
		`<!DOCTYPE html><html><body><a href="omnijail_doctor-1.0.0-py3-none-any.whl">omnijail_doctor-1.0.0-py3-none-any.whl</a></body></html>`},
	"/go/omnijail.invalid/doctor/@v/list":        {"text/plain", "v1.0.0\n"},
	"/go/omnijail.invalid/doctor/@v/v1.0.0.info": {"application/json", `{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`},
	"/go/omnijail.invalid/doctor/@v/v1.0.0.mod":  {"text/plain", "module omnijail.invalid/doctor\n"},
	"/cargo/config.json":                         {"application/json", `{"dl":"https://` + egress.DoctorHost + `/cargo/dl","api":"https://` + egress.DoctorHost + `/cargo"}`},
	"/cargo/api/v1/crates": {"application/json",
		`{"crates":[{"name":"omnijail-doctor","max_version":"1.0.0","description":""}],"meta":{"total":1}}`},
	"/version": {"application/json", `{"major":"1","minor":"32","gitVersion":"v1.32.0+omnijail-doctor"}`},
	"/s3": {"application/xml", `<ListAllMyBucketsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Buckets><Bucket>` +
		`<Name>omnijail-doctor</Name><CreationDate>2026-01-01T00:00:00Z</CreationDate></Bucket></Buckets></ListAllMyBucketsResult>`},
}

// packet is a line as git frames it.
func packet(line string) string { return fmt.Sprintf("%04x%s", 4+len(line), line) }

// doctor answers for DoctorHost in the place of an upstream.
type doctor struct{}

// RoundTrip returns the page of a path, 404 for any other.
func (doctor) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	path, _, _ := strings.Cut(r.URL.Opaque, "?")
	p, ok := doctorPages[path]
	resp := &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {p.kind}},
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		resp.StatusCode, p = http.StatusMethodNotAllowed, page{}
	case !ok:
		resp.StatusCode = http.StatusNotFound
	}
	resp.ContentLength = int64(len(p.body))
	if r.Method == http.MethodHead {
		p.body = ""
	}
	resp.Body = io.NopCloser(strings.NewReader(p.body))
	return resp, nil
}
