package mitm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

// TestS24_Answer holds the form of a refusal for each kind of client, and that no
// word of the jail's can leave its place.
func TestS24_Answer(t *testing.T) {
	a := answer{
		refusal: refuse(403, audit.CodeNoRule, "denied POST api.test/x\r\nX-Evil: 1\x1b[2J\u202e: no rule allows it"),
		rule:    "GET api.test/**", id: "0000002a",
	}
	for _, tt := range []struct {
		name   string
		header http.Header
		form   form
	}{
		{"no preference", nil, formJSON},
		{"anything", http.Header{"Accept": {"*/*"}}, formJSON},
		{"text", http.Header{"Accept": {"text/html, text/plain;q=0.5"}}, formPlain},
		{"text and more", http.Header{"Accept": {"text/html,*/*"}}, formJSON},
		{"git", http.Header{"User-Agent": {"git/2.39.5"}, "Accept": {"*/*"}}, formPlain},
		{"kubectl", http.Header{"User-Agent": {"kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd"}, "Accept": {"application/json"}}, formPlain},
		{"a page in a browser", http.Header{"Sec-Fetch-Dest": {"document"}, "Accept": {"text/html,*/*;q=0.8"}}, formPlain},
		{"a script's request in a browser", http.Header{"Sec-Fetch-Dest": {"empty"}, "Accept": {"*/*"}}, formJSON},
		{"npm", http.Header{"User-Agent": {"npm/11.19.1 node/v20.20.2 linux x64"}, "Accept": {"application/json"}}, formNPM},
		{"S3", http.Header{"User-Agent": {"aws-cli/1.22 Python/3.11 Linux/6 botocore/1.23"}}, formXML},
		{"S3, by another program", http.Header{"User-Agent": {"Boto3/1.34 md/Botocore#1.34"}}, formXML},
		{"S3's kin", http.Header{"User-Agent": {"MinIO (linux; amd64) minio-go/v7"}}, formXML},
		{"Azure's storage", http.Header{"X-Ms-Version": {"2023-11-03"}}, formXML},
		{"XML alone", http.Header{"Accept": {"application/xml"}}, formXML},
		{"XML among others", http.Header{"Accept": {"application/xml, */*"}}, formJSON},
		{"STS", http.Header{"User-Agent": {"aws-sdk-go-v2/1.30"}, "Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}, formQuery},
		{"DynamoDB", http.Header{"User-Agent": {"aws-sdk-go-v2/1.30"}, "X-Amz-Target": {"DynamoDB_20120810.ListTables"}}, formJSON},
		{"a form of anybody's", http.Header{"User-Agent": {"curl/7.88"}, "Content-Type": {"application/x-www-form-urlencoded"}}, formJSON},
		{"pnpm", http.Header{"User-Agent": {"pnpm/9.15.9 npm/? node/v20.20.2 linux x64"}, "Accept": {"*/*"}}, formNPM},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var wire bytes.Buffer
			req := &http.Request{Method: "POST", Header: tt.header}
			if err := a.write(bufio.NewWriter(&wire), req, false); err != nil {
				t.Fatal(err)
			}
			resp, body := readReply(t, bufio.NewReader(&wire), req)
			h := resp.Header
			if h.Get("X-Evil") != "" || strings.ContainsAny(h.Get("X-Omnijail-Reason"), "\r\n\x1b\u202e") {
				t.Errorf("the reason left its place: %v", h)
			}
			if resp.StatusCode != 403 || h.Get("X-Omnijail-Code") != "no_rule" || h.Get("X-Omnijail-Id") != "0000002a" {
				t.Errorf("%d %v", resp.StatusCode, h)
			}
			phrase := `403 Forbidden (omnijail: denied POST api.test/x\u{d}\u{a}X-Evil: 1\u{1b}[2J\u{202e}: no rule allows it; ask the owner: omnijailctl why 0000002a)`
			if resp.Status != phrase {
				t.Errorf("the status is %q", resp.Status)
			}
			if tt.form == formPlain {
				if !strings.HasPrefix(h.Get("Content-Type"), "text/plain") || !strings.Contains(body, "omnijailctl why 0000002a") {
					t.Errorf("%v %q", h, body)
				}
				return
			}
			if tt.form == formXML || tt.form == formQuery {
				checkXML(t, h, body, tt.form)
				return
			}
			if tt.form == formNPM {
				var got struct {
					Error  string
					Detail struct{ Code, ID string }
				}
				if err := json.Unmarshal([]byte(body), &got); err != nil || !strings.Contains(got.Error, "no rule allows it; ask the owner: ") || got.Detail.Code != "no_rule" {
					t.Errorf("%v %+v", err, got)
				}
				return
			}
			var got struct {
				Message string
				Error   struct{ Code, Reason, Rule, ID, Ask string }
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			if e := got.Error; e.Code != "no_rule" || e.Rule != "GET api.test/**" || e.ID != "0000002a" || e.Ask != "ask the owner: omnijailctl why 0000002a" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// checkXML holds that a parser of XML finds what S3's clients show.
func checkXML(t *testing.T, h http.Header, body string, f form) {
	t.Helper()
	type fields struct{ Code, Message, RequestId string }
	var got struct {
		XMLName xml.Name
		fields
		Error fields
	}
	if err := xml.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	name, e := "Error", got.fields
	if f == formQuery {
		name, e = "ErrorResponse", got.Error
	}
	if got.XMLName.Local != name || e.Code != "no_rule" || e.RequestId != "0000002a" || !strings.Contains(e.Message, "ask the owner: omnijailctl why 0000002a") {
		t.Errorf("%+v", got)
	}
	if h.Get("Content-Type") != "application/xml" || strings.ContainsAny(body, "\x1b") {
		t.Errorf("%v %q", h, body)
	}
}

// TestHeadHasNoBody holds that a refused HEAD keeps its connection in step.
func TestHeadHasNoBody(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test/ok"}})
	c := r.dialTLS(r.serve("api.test:443", &seen{}), "api.test")
	br := bufio.NewReader(c)
	for _, method := range []string{"HEAD", "GET"} {
		c.Write([]byte(method + " /no HTTP/1.1\r\nHost: api.test\r\n\r\n"))
		resp, body := readReply(t, br, &http.Request{Method: method})
		if resp.StatusCode != 403 || (body == "") != (method == "HEAD") {
			t.Errorf("%s: %d %q", method, resp.StatusCode, body)
		}
	}
}
