package server

import (
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/peercred/peercredtest"
	"github.com/omnijail/omnijail/internal/policy"
)

// fuzzCaller is this process, by the kernel's word, with all that an access entry
// can give.
func fuzzCaller(f *testing.F) *caller {
	f.Helper()
	return &caller{Caller: peercredtest.Self(f), access: &config.Access{Policies: []string{"*", "own"}, Jails: 1}, endTurn: func() {}}
}

func fuzzServer(f *testing.F) *Server {
	f.Helper()
	set := &config.Config{PolicyDir: f.TempDir(), EgressUser: "nobody"}
	unknown := func(string) (uint32, bool) { return 0, false }
	return &Server{cfg: Config{Settings: func() *config.Config { return set }, Names: config.Names{User: unknown, Group: unknown}}}
}

// fuzzFacts are those of a node where everything works.
func fuzzFacts() policy.Facts {
	return policy.Facts{
		Guarantees: map[string][]jail.Guarantee{"linux_bwrap": jail.Guarantees}, Backends: []string{"linux_bwrap"},
		System: []policy.SystemDir{{Path: "/usr"}}, Reserved: []string{"/run/omnijail"}, SocketGID: 990,
	}
}

// FuzzRequest: whatever a client sends to the API, it is refused with a code, or
// becomes a jail of the user that the kernel named, with nothing in it that the
// kernel would take for the end of a string.
func FuzzRequest(f *testing.F) {
	for _, seed := range []any{
		api.ExecRequest{Argv: []string{"true"}, Cwd: "/srv/w"},
		api.ExecRequest{ArgvB64: [][]byte{{0xff, 0xfe}}, CwdB64: []byte("/srv/w"), Timeout: "90s", Memory: "1g", Pids: 10, TTY: &api.Size{Rows: 24, Cols: 80}},
		api.ExecRequest{Argv: []string{"gh"}, Cwd: "/srv/w", Policy: json.RawMessage(`"github-read"`), Env: map[string]string{"A": "b"}, Context: map[string]string{"HOME": "/home/a", "PATH": "/bin"}},
		api.ExecRequest{Argv: []string{"x"}, Cwd: "/w", Policy: json.RawMessage(`{"write_paths":["/w"],"egress_rules":["GET a.test/**"]}`), Add: api.Add{Allow: []string{"GET b.test"}}},
		api.PolicyCheck{Policy: json.RawMessage(`"default"`)},
		api.PolicyTest{Policy: json.RawMessage(`"github-read"`), Method: "GET", URL: "https://api.github.com/user"},
	} {
		b, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	s, c, facts := fuzzServer(f), fuzzCaller(f), fuzzFacts()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, h := range []handlerFunc{(*Server).checkPolicy, (*Server).testPolicy} {
			w := httptest.NewRecorder()
			if refused := h(s, w, httptest.NewRequest("POST", "/", strings.NewReader(string(body))), c); refused != nil {
				wantRefusal(t, refused)
			} else if !json.Valid(w.Body.Bytes()) {
				t.Fatalf("the answer is no JSON: %q", w.Body)
			}
		}
		var req api.ExecRequest
		if refused := decode(httptest.NewRequest("POST", "/", strings.NewReader(string(body))), &req); refused != nil {
			wantRefusal(t, refused)
			return
		}
		req.User = "2001:2002" // root must name somebody
		plan, refused := s.plan(&req, c, facts, false)
		if refused != nil {
			wantRefusal(t, refused)
			return
		}
		if u := plan.Spec.OCI.Process.User; u.UID != 2001 || u.GID != 2002 {
			t.Fatalf("the jail runs as %d:%d", u.UID, u.GID)
		}
		if len(plan.Argv) == 0 || !filepath.IsAbs(plan.Cwd) || filepath.Clean(plan.Cwd) != plan.Cwd {
			t.Fatalf("argv %q, cwd %q", plan.Argv, plan.Cwd)
		}
		for _, a := range append(slices.Clone(plan.Argv), []byte(plan.Cwd)) {
			if slices.Contains(a, 0) {
				t.Fatalf("a NUL in %q", a)
			}
		}
	})
}

func wantRefusal(t *testing.T, e *api.Error) {
	t.Helper()
	if e.Status < 400 || e.Status > 499 || e.Code == "" || e.Reason == "" {
		t.Fatalf("not a refusal of the client's: %+v", e)
	}
}
