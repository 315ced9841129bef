package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/jail"
)

// answer is what a route said, but for the date.
type answer struct {
	status int
	body   string
}

// ask sends one request as a user, with no help from the client library.
func ask(t testing.TB, n *Node, uid uint32, method, path, body string, header ...string) (a answer) {
	t.Helper()
	asUser(t, uid, func() {
		c, err := net.Dial("unix", n.Socket)
		if err != nil {
			a.body = err.Error()
			return
		}
		defer c.Close()
		fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: omnijail\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s",
			method, path, len(body), strings.Join(append(header, ""), "\r\n"), body)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s %s: %v", method, path, err)
			return
		}
		b, _ := io.ReadAll(resp.Body)
		a = answer{resp.StatusCode, string(b)}
	})
	return a
}

// operations are those of the API's document.
func operations(t testing.TB) (ops [][2]string) {
	t.Helper()
	path := ""
	entry := regexp.MustCompile(`^  (/\S+):$|^    (get|put|post|delete|patch):$`)
	for line := range strings.Lines(string(api.OpenAPI)) {
		m := entry.FindStringSubmatch(strings.TrimRight(line, "\n"))
		switch {
		case m == nil:
		case m[1] != "":
			path = m[1]
		default:
			ops = append(ops, [2]string{strings.ToUpper(m[2]), path})
		}
	}
	if len(ops) < 10 {
		t.Fatalf("the document has only %v", ops)
	}
	return ops
}

// held is a jail of alice's that runs until its standard input closes, with a
// refused request in its journal.
func held(t *testing.T, n *Node) (id, event string, end func()) {
	t.Helper()
	r := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--", "sh", "-c", "curl -s https://alices-secret-host.test/alices/path; echo $OMNIJAIL_ID; read x"}})
	r.says(t, "\n")
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"--json", "events", "--denied"}}).Want(t, 0)
	m := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(o.Stdout)
	if m == nil {
		t.Fatalf("no refusal in the journal: %s", o.Stdout)
	}
	return strings.TrimSpace(r.out.String()), m[1], func() { r.stdin.Close(); r.finish(t) }
}

func TestS14_OthersSeeAndCommandNothing(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	id, event, end := held(t, n)
	defer end()
	unknown := jail.NewID().String()
	n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--write", ".", "--", "true"}}).Want(t, 0)
	cache := n.caches(t, Alice)[0].ID

	for _, op := range operations(t) {
		method, path := op[0], op[1]
		if !strings.Contains(path, "{id}") {
			continue
		}
		mine, none := id, unknown
		if strings.Contains(path, "events") || strings.Contains(path, "audit") {
			mine, none = event, "ffffffff"
		}
		if strings.Contains(path, "caches") {
			mine, none = cache, strings.Repeat("f", len(cache))
		}
		at := func(id string) string { return strings.ReplaceAll(path, "{id}", id) }
		foreign, missing := ask(t, n, Bob, method, at(mine), ""), ask(t, n, Bob, method, at(none), "")
		if foreign != missing || foreign.status != 404 {
			t.Errorf("%s %s: foreign %v, unknown %v", method, path, foreign, missing)
		}
		if a := ask(t, n, Alice, method, at(none), ""); a != missing {
			t.Errorf("%s %s: alice gets %v for an unknown id, bob %v", method, path, a, missing)
		}
		if method != "GET" {
			continue
		}
		for _, uid := range []uint32{Alice, 0} {
			status := 200
			if strings.HasSuffix(path, "/logs") {
				status = 409 // of a jail whose command has a client
			}
			if a := ask(t, n, uid, method, at(mine), ""); a.status != status || !strings.Contains(a.body, mine) {
				t.Errorf("%s %s as %d: %v", method, path, uid, a)
			}
		}
	}
	t.Run("lists", func(t *testing.T) {
		for _, path := range []string{"/v1/jails", "/v1/events", "/v1/events?denied=true", "/v1/events?jail=" + id, "/v1/events?since=24h"} {
			if a := ask(t, n, Alice, "GET", path, ""); !strings.Contains(a.body, id) {
				t.Errorf("alice does not see her own jail in %s: %v", path, a)
			}
			if a := ask(t, n, 0, "GET", path, ""); !strings.Contains(a.body, id) {
				t.Errorf("root does not see it in %s: %v", path, a)
			}
			if a := ask(t, n, Bob, "GET", path, ""); a.status != 200 || strings.Contains(a.body, id) || strings.Contains(a.body, "alice") || strings.Contains(a.body, event) {
				t.Errorf("bob sees in %s: %v", path, a)
			}
		}
		if a, b := ask(t, n, Bob, "GET", "/v1/events?jail="+id, ""), ask(t, n, Bob, "GET", "/v1/events?jail="+unknown, ""); a != b {
			t.Errorf("bob can tell: %v and %v", a, b)
		}
	})
	t.Run("through omnijailctl", func(t *testing.T) {
		for _, verb := range []string{"inspect", "kill", "rm"} {
			a := n.Run(t, Ctl{UID: Bob, Args: []string{verb, id}})
			b := n.Run(t, Ctl{UID: Bob, Args: []string{verb, unknown}})
			if a.Exit == 0 || a.Exit != b.Exit || strings.ReplaceAll(a.Stderr, id, unknown) != b.Stderr {
				t.Errorf("%s: %+v, %+v", verb, a, b)
			}
		}
		if o := n.Run(t, Ctl{UID: Bob, Args: []string{"why", event}}); o.Exit == 0 || strings.Contains(o.Stderr+o.Stdout, "alices") {
			t.Errorf("why: %+v", o)
		}
	})
	if a := ask(t, n, Alice, "GET", "/v1/jails/"+id, ""); a.status != 200 {
		t.Errorf("after all that alice's jail is %v", a)
	}
	if a := ask(t, n, Alice, "DELETE", "/v1/jails/"+id, ""); a.status != 204 {
		t.Errorf("alice ends her jail: %v", a)
	}
}

func TestS14_WhoMayAskAtAll(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	for _, op := range operations(t) {
		path := strings.NewReplacer("{id}", "x", "{name}", "offline").Replace(op[1])
		if a := ask(t, n, Outsider, op[0], path, ""); !strings.Contains(a.body, "permission denied") {
			t.Errorf("%s %s: somebody outside of the group gets %v", op[0], path, a)
		}
		// What a web page could send by way of some forwarder.
		if a := ask(t, n, Alice, op[0], path, "", "Origin: http://evil.test"); a.status != 403 {
			t.Errorf("%s %s with an Origin: %v", op[0], path, a)
		}
		if a := ask(t, n, Alice, op[0], path, "", "Referer: http://evil.test"); a.status != 403 {
			t.Errorf("%s %s with a Referer: %v", op[0], path, a)
		}
	}
	if a := ask(t, n, Alice, "POST", "/v1/drain", "{}"); a.status != 403 || !strings.Contains(a.body, "root_only") {
		t.Errorf("alice drains: %v", a)
	}
	n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--", "true"}}).Want(t, 0)
}

// Verbs and flags of parts that are not built are refused by their name.
func TestS14_VerbsOfPartsNotBuilt(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	for _, args := range [][]string{
		{"creds", "ls"},
		{"policy", "suggest"}, {"audit", "prove", "x"}, {"box", "ls"}, {"hosts", "ls"},
	} {
		o := n.Run(t, Ctl{UID: Alice, Args: args})
		name := args[0]
		if strings.HasPrefix(args[1%len(args)], "--") || name == "policy" || name == "audit" {
			name = args[1]
		}
		if o.Exit == 0 || !strings.Contains(o.Stderr, name) {
			t.Errorf("%q: exit %d, %q", args, o.Exit, o.Stderr)
		}
	}
	for _, op := range []string{"GET /v1/jails/x/creds"} {
		method, path, _ := strings.Cut(op, " ")
		if a := ask(t, n, Alice, method, path, "{}"); a.status != 404 && a.status != 405 {
			t.Errorf("%s: %v", op, a)
		}
	}
}
