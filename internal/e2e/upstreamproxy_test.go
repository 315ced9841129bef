package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

// A corporate proxy on the way out is told the names that rules allow, with the
// login of root's file, through the fence that closes the rest of its address.
func TestUpstreamProxyIsTold(t *testing.T) {
	told := make(chan string, 8)
	proxy := lab.Serve(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			told <- req.Method + " " + req.RequestURI + " " + req.Header.Get("Proxy-Authorization")
		}
		io.WriteString(c, "HTTP/1.1 403 not today\r\n\r\n")
	})
	login := filepath.Join(t.TempDir(), "login")
	if err := os.WriteFile(login, []byte("corp:pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := NewNode(t, Options{NoLab: true, Config: map[string]any{"upstream": map[string]any{"proxy": proxy.String(), "proxy_login": login}}})
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--allow", "GET far.example", "--", "sh", "-c",
		"curl -sS https://far.example/; curl -sS https://other.example/"}})
	if !strings.Contains(o.Stdout, "proxy_refused") {
		t.Errorf("stdout %s stderr %s", o.Stdout, o.Stderr)
	}
	if len(told) == 0 {
		t.Fatal("the proxy was told nothing")
	}
	if got := <-told; got != "CONNECT far.example:443 Basic Y29ycDpwYXNz" {
		t.Errorf("the proxy was told %q", got)
	}
	if len(told) > 0 {
		t.Errorf("and %q", <-told)
	}
}
