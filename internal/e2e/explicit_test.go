package e2e

import "testing"

const explicitPolicy = `
proxy_env: true
egress_rules:
  - "* example.test/**"
  - "* http://plain.test/**"
`

// TestExplicitProxy runs clients as they are in a jail that tells them of a proxy.
func TestExplicitProxy(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{
		Policy: map[string]string{
			"explicit": explicitPolicy,
			"bare":     "backend: linux_landlock\n" + explicitPolicy,
			"without":  "egress_rules:\n  - \"* example.test/**\"\n",
		},
		Hosts: func(n *Node) map[string]string {
			return map[string]string{"example.test:443": n.Lab.HTTPS().String(), "plain.test:80": n.Lab.HTTP().String()}
		},
	})
	for _, c := range []struct{ name, policy, script, want string }{
		{"curl, https", "explicit", `curl -sSv https://example.test/status?code=204 2>&1 | grep -ciE "proxy tunnel|CONNECT (phase|tunnel)" | sed 's/[1-9].*/by the proxy/'`, "by the proxy\n"},
		{"curl, http", "explicit", `curl -sSv http://plain.test/status?code=204 2>&1 | grep -c "GET http://plain.test/status"`, "1\n"},
		{"wget", "explicit", `wget -qO /dev/null https://example.test/status?code=200 && echo fine`, "fine\n"},
		{"python", "explicit", `python3 -c 'import urllib.request as u; print(u.getproxies()["https"], u.urlopen("https://example.test/status?code=200").status)'`, "http://127.0.0.1:3128 200\n"},
		{"not through it", "explicit", `env -u HTTPS_PROXY -u https_proxy -u ALL_PROXY -u all_proxy curl -sS -o /dev/null -w '%{http_code}' https://example.test/status?code=200`, "200"},
		{"IPv6", "explicit", `curl -sS -x 'http://[::1]:3128' -o /dev/null -w '%{http_code}' https://example.test/status?code=200`, "200"},
		{"no rule", "explicit", `curl -sS -o /dev/null -w '%{http_connect}' https://other.test/ 2>/dev/null; true`, "403"},
		{"the jail's own server", "explicit", `python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 & until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do :; done; curl -sS -o /dev/null -w '%{http_code}' http://localhost:8000/`, "200"},
		{"its port is taken", "explicit", `python3 -c 'import socket; s = socket.socket(); s.setsockopt(1, 2, 1); s.setsockopt(1, 15, 1); s.bind(("127.0.0.1", 3128)); s.listen()' 2>&1 | tail -n 1`, "OSError: [Errno 98] Address already in use\n"},
		{"git", "explicit", `git -c http.version=HTTP/1.1 ls-remote https://example.test/a/b.git 2>&1 | grep -o "proxy\|403" | head -n 1; GIT_CURL_VERBOSE=1 git ls-remote https://example.test/a/b.git 2>&1 | grep -c "CONNECT example.test:443" | sed "s/[1-9].*/by the proxy/"`, "by the proxy\n"},
		{"without bubblewrap", "bare", `curl -sS -o /dev/null -w "%{http_code}" https://example.test/status?code=200`, "200"},
		{"unless asked for", "without", `env | grep -i proxy; (exec 3<>/dev/tcp/127.0.0.1/3128) 2>/dev/null || echo refused`, "refused\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := n.Exec(t, "--policy", c.policy, "--", "bash", "-c", c.script).Want(t, 0)
			if o.Stdout != c.want {
				t.Errorf("%q, want %q\n%s", o.Stdout, c.want, o.Stderr)
			}
		})
	}
}
