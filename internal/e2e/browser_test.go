package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// chromium prints a page as a person would see it. It has no sandbox of its own
// here: a jail nests none without a weakening.
const chromium = `chromium --headless --disable-gpu --no-first-run --no-sandbox --dump-dom`

const browserPolicy = `
egress_rules:
  - "GET api.example.test/**"
  - {allow: "GET other.test/**", h2: prefer}
credential_proxy:
  - {type: https_bearer, targets: [api.example.test, other.test], source: {env: E2E_TOKEN}}
`

// browserPage says how it was loaded.
const browserPage = `<!DOCTYPE html><p></p><script>
document.querySelector("p").textContent = "by " + performance.getEntriesByType("navigation")[0].nextHopProtocol
</script>`

// TestABrowserLoadsAnInterceptedPage: Chromium asks no store of the system's, and is
// told of the jail's CA by a policy of its administrator.
func TestABrowserLoadsAnInterceptedPage(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{"clients": browserPolicy}, Bubblewrap: true})
	page := n.Lab.Private(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(browserPage))
	}))
	for host, protocol := range map[string]string{"api.example.test": "http/1.1", "other.test": "h2"} {
		n.Lab.Serve(host, page)
		n.Lab.Forget()
		o := n.client(t, n.Workspace(t, Alice, nil), "sh", "-c", chromium+" https://"+host+"/page 2>/dev/null").Want(t, 0)
		if !strings.Contains(o.Stdout, "<p>by "+protocol+"</p>") {
			t.Errorf("%s: %+v", host, o)
		}
		seen := n.Lab.Seen()
		if len(seen) == 0 {
			t.Errorf("%s: the upstream saw nothing", host)
		}
		for _, s := range seen {
			if !s.Authorized || s.Host != host {
				t.Errorf("%s: the upstream saw %+v", host, s)
			}
		}
	}
}
