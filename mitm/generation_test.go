package mitm

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// policyOf is a policy of a rig's under other rules; the credentials stay.
func (r *rig) policyOf(generation uint32, rules []egress.Rule) Policy {
	r.t.Helper()
	set, err := egress.Compile(rules)
	if err != nil {
		r.t.Fatal(err)
	}
	p := r.proxy.now().Policy
	p.Generation, p.Rules = generation, set
	return p
}

func (r *rig) replace(p Policy) {
	r.t.Helper()
	if err := r.proxy.Replace(p); err != nil {
		r.t.Fatal(err)
	}
}

// TestReplaceIsAtomic changes the policy all the time under a storm of requests:
// each of them is judged wholly by one generation, whose number its record has.
func TestReplaceIsAtomic(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test/even/**"}, bindings: []creds.Binding{bearer("api.test")}})
	r.resolve(0)
	up := &seen{}
	addr := r.serve("api.test:443", up)
	stop := make(chan struct{})
	var storm sync.WaitGroup
	for range 4 {
		storm.Go(func() {
			c := r.client(addr)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				resp, err := c.Get("https://api.test/" + []string{"even", "odd"}[i%2] + "/x")
				if err != nil {
					continue // cut: the policy changed under it
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	for n := uint32(1); n <= 200; n++ {
		path := []string{"even", "odd"}[n%2]
		r.replace(r.policyOf(n, mustRules(t, "GET api.test/"+path+"/**")))
		if n%8 < 2 { // let some through
			if resp, body := r.say(r.dialTLS(addr, "api.test"), "GET /"+path+"/x HTTP/1.1\r\nHost: api.test\r\n\r\n"); resp.StatusCode != 200 {
				t.Errorf("generation %d: %d %s", n, resp.StatusCode, body)
			}
		}
	}
	close(stop)
	storm.Wait()
	r.audit.mu.Lock()
	defer r.audit.mu.Unlock()
	allowed := map[string]int{}
	for _, e := range r.audit.opened {
		if e.Kind != audit.KindRequest || e.Decision != audit.Allow {
			continue
		}
		allowed[e.Path]++
		if want := []string{"/even/x", "/odd/x"}[e.Generation%2]; e.Path != want {
			t.Errorf("generation %d allowed %s", e.Generation, e.Path)
		}
	}
	for _, path := range []string{"/even/x", "/odd/x"} {
		var came int
		for _, req := range up.all() {
			if req.URL.Path == path {
				came++
			}
		}
		if came > allowed[path] || came == 0 {
			t.Errorf("%s: %d requests came, %d were recorded as allowed", path, came, allowed[path])
		}
	}
}

// crossingKinds are the ways in which something of a jail's can be under way. Each
// returns what comes back over it, line after line.
var crossingKinds = map[string]struct {
	rule  egress.Rule
	start func(t *testing.T, r *rig) *bufio.Reader
}{
	"streamed reply": {egress.Rule{Host: "api.test", Port: 443}, func(t *testing.T, r *rig) *bufio.Reader {
		addr := r.serve("api.test:443", http.HandlerFunc(endless))
		resp, err := r.client(addr).Get("https://api.test/")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return bufio.NewReader(resp.Body)
	}},
	"stream of HTTP/2": {egress.Rule{Host: "api.test", Port: 443, PreferHTTP2: true}, func(t *testing.T, r *rig) *bufio.Reader {
		addr := r.serve("api.test:443", http.HandlerFunc(endless))
		c := r.client(addr)
		transportOf(c).ForceAttemptHTTP2 = true
		resp, err := c.Get("https://api.test/")
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatal(resp, err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return bufio.NewReader(resp.Body)
	}},
	"WebSocket": {egress.Rule{Host: "api.test", Port: 443, WebSocket: true}, func(t *testing.T, r *rig) *bufio.Reader {
		c := r.dialTLS(r.serve("api.test:443", accepts(tick)), "api.test")
		io.WriteString(c, handshake("api.test"))
		br := bufio.NewReader(c)
		if resp, err := http.ReadResponse(br, nil); err != nil || resp.StatusCode != 101 {
			t.Fatal(resp, err)
		}
		return br
	}},
	"tcp rule": {egress.Rule{Host: "api.test", Port: 443, Scheme: egress.TCP}, func(t *testing.T, r *rig) *bufio.Reader {
		addr := r.serve("api.test:443", accepts(tick))
		c, err := unreadTLS(t, addr, "api.test")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, handshake("api.test"))
		return bufio.NewReader(c)
	}},
	"unread TLS": {unread("api.test"), func(t *testing.T, r *rig) *bufio.Reader {
		addr := r.serve("api.test:443", accepts(tick))
		c, err := unreadTLS(t, addr, "api.test")
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, handshake("api.test"))
		return bufio.NewReader(c)
	}},
}

func endless(w http.ResponseWriter, req *http.Request) {
	for req.Context().Err() == nil {
		if _, err := io.WriteString(w, "tick\n"); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}

func tick(c net.Conn, _ *bufio.ReadWriter) {
	for {
		if _, err := io.WriteString(c, "tick\n"); err != nil {
			return
		}
	}
}

// TestReplaceCuts holds that what is under way ends with its rule, in every way in
// which something can be under way, and goes on where the rule stays.
func TestReplaceCuts(t *testing.T) {
	for name, kind := range crossingKinds {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{config: withRules([]egress.Rule{kind.rule})})
			in := kind.start(t, r)
			more := func() error { _, err := in.ReadString('\n'); return err }
			if err := more(); err != nil {
				t.Fatal(err)
			}
			other := egress.Rule{Host: "other.test", Port: 443}
			r.replace(r.policyOf(1, []egress.Rule{other, kind.rule}))
			for range 1000 {
				if err := more(); err != nil {
					t.Fatalf("it was cut although its rule stays: %v", err)
				}
			}
			r.replace(r.policyOf(2, []egress.Rule{other}))
			for more() == nil {
			}
			end := r.audit.await(t, ended, func(e Event) bool { return true })
			if end.Code != audit.CodePolicyChanged || end.Generation != 0 {
				t.Errorf("its end is recorded as %+v", end)
			}
		})
	}
}

// TestReplaceCutsWhatWouldGoAnotherWay: the rule stays, and what it would do now is not
// what it did.
func TestReplaceCutsWhatWouldGoAnotherWay(t *testing.T) {
	same := egress.Rule{Host: "api.test", Port: 443}
	for name, change := range map[string]func(*rig, *Policy, *egress.Rule){
		"nothing":              func(*rig, *Policy, *egress.Rule) {},
		"without a credential": func(r *rig, p *Policy, _ *egress.Rule) { p.Table = tableOf(r.table.Next(nil, nil)) },
		"with another": func(r *rig, p *Policy, _ *egress.Rule) {
			p.Table = tableOf(r.table.Next([]creds.Binding{bearer("api.test")}, nil))
		},
		"a limit on bodies":    func(_ *rig, _ *Policy, rule *egress.Rule) { rule.MaxBody = 1 },
		"no private addresses": func(_ *rig, _ *Policy, rule *egress.Rule) { rule.AllowPrivate = nil },
		"an address is denied": func(r *rig, p *Policy, _ *egress.Rule) {
			up := *r.upstream
			up.Denied = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
			p.Dial = NewDialer(up)
		},
		"private ones are not": func(r *rig, p *Policy, _ *egress.Rule) {
			up := *r.upstream
			up.AllowPrivate = false
			p.Dial = NewDialer(up)
		},
		"a name leads elsewhere": func(r *rig, p *Policy, _ *egress.Rule) {
			up := *r.upstream
			up.Hosts = map[string]netip.AddrPort{"api.test:443": netip.MustParseAddrPort("127.0.0.1:1")}
			p.Dial = NewDialer(up)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rule := same
			rule.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			r := newRig(t, options{bindings: []creds.Binding{bearer("api.test")}, config: withRules([]egress.Rule{rule}), up: func(u *Upstream) { u.AllowPrivate = true }})
			r.resolve(0)
			resp, err := r.client(r.serve("api.test:443", http.HandlerFunc(endless))).Get("https://api.test/")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			defer time.AfterFunc(20*time.Second, func() { resp.Body.Close() }).Stop() // only bounds a hang
			in := bufio.NewReader(resp.Body)
			more := func() error { _, err := in.ReadString('\n'); return err }
			if err := more(); err != nil {
				t.Fatal(err)
			}
			next := r.policyOf(1, nil)
			change(r, &next, &rule)
			set, err := egress.Compile([]egress.Rule{rule})
			if err != nil {
				t.Fatal(err)
			}
			next.Rules = set
			r.replace(next)
			if name == "nothing" {
				for range 1000 {
					if err := more(); err != nil {
						t.Fatal(err)
					}
				}
				return
			}
			for more() == nil {
			}
			if end := r.audit.await(t, ended, func(Event) bool { return true }); end.Code != audit.CodePolicyChanged {
				t.Errorf("its end is recorded as %+v", end)
			}
		})
	}
}

func tableOf(table *creds.Table, err error) *creds.Table {
	if err != nil {
		panic(err)
	}
	return table
}

// TestS19_AReplyUnderWayIsNotSearchedTooLittle: a host gets a credential while it
// answers. What it has still to say, it may have been told by then.
func TestS19_AReplyUnderWayIsNotSearchedTooLittle(t *testing.T) {
	for host, cut := range map[string]bool{"api.test": true, "other.test": false} {
		t.Run(host, func(t *testing.T) {
			r := newRig(t, options{rules: []string{"GET api.test"}})
			resp, err := r.client(r.serve("api.test:443", http.HandlerFunc(endless))).Get("https://api.test/")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			defer time.AfterFunc(20*time.Second, func() { resp.Body.Close() }).Stop() // only bounds a hang
			in := bufio.NewReader(resp.Body)
			more := func() error { _, err := in.ReadString('\n'); return err }
			if err := more(); err != nil {
				t.Fatal(err)
			}
			p := r.policyOf(1, mustRules(t, "GET api.test", "GET other.test"))
			if p.Table, err = r.table.Next([]creds.Binding{bearer(host)}, nil); err != nil {
				t.Fatal(err)
			}
			r.replace(p)
			if !cut {
				for range 1000 {
					if err := more(); err != nil {
						t.Fatal(err)
					}
				}
				return
			}
			for more() == nil {
			}
			if end := r.audit.await(t, ended, func(Event) bool { return true }); end.Code != audit.CodePolicyChanged {
				t.Errorf("its end is recorded as %+v", end)
			}
		})
	}
}

// TestReplaceChangesTheProtocol: what a rule prefers is settled by the next handshake.
func TestReplaceChangesTheProtocol(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	addr := r.open("api.test:443")
	settles := func(want string) {
		t.Helper()
		c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: r.jailRoots(), ServerName: "api.test", NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := c.ConnectionState().NegotiatedProtocol; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	settles("http/1.1")
	r.replace(r.policyOf(1, []egress.Rule{{Host: "api.test", Port: 443, PreferHTTP2: true}}))
	settles("h2")
}

// TestReplaceRefusesFormerPlaceholders holds what becomes of bindings: one that
// stays keeps placeholder and value, one that has gone is unknown.
func TestReplaceRefusesFormerPlaceholders(t *testing.T) {
	gone := bearer("gone.test")
	gone.Name, gone.Env = "gone", []creds.EnvVar{{Name: "GONE"}}
	r := newRig(t, options{rules: []string{"GET api.test", "GET gone.test"}, bindings: []creds.Binding{bearer("api.test"), gone}})
	r.resolve(0)
	r.resolve(1)
	up := &seen{}
	addr := r.serve("api.test:443", up)
	c := r.dialTLS(addr, "api.test")
	get := func(variable string) int {
		resp, _ := r.say(c, "GET / HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer "+r.table.Placeholders()[variable]+"\r\n\r\n")
		return resp.StatusCode
	}
	if s := get("TOKEN"); s != 200 {
		t.Fatal(s)
	}
	var err error
	p := r.policyOf(1, mustRules(t, "GET api.test"))
	if p.Table, err = r.table.Next([]creds.Binding{bearer("api.test")}, map[int]int{0: 0}); err != nil {
		t.Fatal(err)
	}
	r.replace(p)
	if s := get("TOKEN"); s != 200 {
		t.Errorf("the placeholder that stays: %d", s)
	}
	if s := get("GONE"); s != 403 {
		t.Errorf("the placeholder that has gone: %d", s)
	}
	if sent := up.all(); len(sent) != 2 || sent[1].Header.Get("Authorization") != "Bearer "+secretValue {
		t.Errorf("the upstream saw %d requests", len(sent))
	}
}

// TestS19_AHostThatWasToldIsNotPassedOnUnread changes to a policy without the
// credential, whose rules would pass the host's connections on as they are: it may
// still say what it was told.
func TestS19_AHostThatWasToldIsNotPassedOnUnread(t *testing.T) {
	for name, rule := range map[string]egress.Rule{
		"tcp rule": {Host: "good.test", Port: 443, Scheme: egress.TCP}, "unread TLS": unread("good.test"),
		"WebSocket": {Host: "good.test", Port: 443, WebSocket: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := new(vault)
			l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
				if req.URL.Path == "/ws" {
					accepts(func(c net.Conn, _ *bufio.ReadWriter) {
						io.WriteString(c, string([]byte{0x81, byte(len(secretValue))})+secretValue)
					})(w, req)
					return
				}
				v.ServeHTTP(w, req)
			}})
			if resp, _ := l.ask(send("GET", "/store")); resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			p := l.policyOf(1, []egress.Rule{rule})
			var err error
			if p.Table, err = l.table.Next(nil, nil); err != nil {
				t.Fatal(err)
			}
			l.replace(p)
			before := l.good.accepted()
			c, err := unreadTLS(t, l.addr, "good.test")
			if err == nil {
				t.Error("the upstream's own certificate was seen")
				io.WriteString(c, send("GET", "/body"))
				io.Copy(l.heard, c)
			}
			if n := l.good.accepted(); n != before {
				t.Errorf("%d connections were passed on", n-before)
			}
			if rule.WebSocket {
				_, br := l.join("Sec-WebSocket-Extensions: permessage-deflate")
				if got, _ := io.ReadAll(br); len(got) != 2+len(secretValue) || got[2] != '*' {
					t.Errorf("the jail got %q", got)
				}
				return
			}
			l.ask(send("GET", "/body")) // read, whatever rules make of it: the oracle looks at the reply
		})
	}
}

// TestReplaceClosesIdle holds that a connection on which a credential was sent does
// not outlive the policy that bound it.
func TestReplaceClosesIdle(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}, bindings: []creds.Binding{bearer("api.test")}})
	r.resolve(0)
	closed := make(chan struct{}, 8)
	srv := httptest.NewUnstartedServer(&seen{})
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	c := r.dialTLS(r.at("api.test:443", r.start("api.test:443", srv)), "api.test")
	if resp, _ := r.say(c, "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	p := r.policyOf(1, mustRules(t, "GET api.test"))
	p.Table = nil
	r.replace(p)
	<-closed
}
