package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// lfsServer answers git LFS for who has the credential, and sends it elsewhere for the
// files: to one with a token that it mints, to the other with a signed address.
type lfsServer struct {
	files  map[string]string // by their hash
	tokens map[string]string // what opens each at the storage: a header or a query

	mu    sync.Mutex
	wrong []string // what the storage was asked for without that
}

func newLFSServer(contents ...string) *lfsServer {
	s := &lfsServer{files: map[string]string{}, tokens: map[string]string{}}
	for i, c := range contents {
		sum := sha256.Sum256([]byte(c))
		oid := hex.EncodeToString(sum[:])
		s.files[oid] = c
		s.tokens[oid] = []string{"RemoteAuth minted-0123456789abcdef0123", "X-Amz-Date=1&X-Amz-Signature=0123456789abcdef0123456789abcdef"}[i%2]
	}
	return s
}

func (s *lfsServer) batch(w http.ResponseWriter, req *http.Request) {
	if _, password, _ := req.BasicAuth(); password != Token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var asked struct {
		Objects []struct {
			OID  string `json:"oid"`
			Size int    `json:"size"`
		} `json:"objects"`
	}
	if err := json.NewDecoder(req.Body).Decode(&asked); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var objects []string
	for _, o := range asked.Objects {
		href, header := "https://other.test/"+o.OID, "{}"
		if token := s.tokens[o.OID]; strings.HasPrefix(token, "RemoteAuth") {
			header = fmt.Sprintf(`{"Authorization":%q}`, token)
		} else {
			href += "?" + token
		}
		objects = append(objects, fmt.Sprintf(`{"oid":%q,"size":%d,"actions":{"download":{"href":%q,"header":%s}}}`, o.OID, o.Size, href, header))
	}
	w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
	fmt.Fprintf(w, `{"transfer":"basic","objects":[%s]}`, strings.Join(objects, ","))
}

func (s *lfsServer) storage(w http.ResponseWriter, req *http.Request) {
	oid := strings.TrimPrefix(req.URL.Path, "/")
	if token := s.tokens[oid]; token == "" || req.Header.Get("Authorization") != token && req.URL.RawQuery != token {
		s.mu.Lock()
		s.wrong = append(s.wrong, req.URL.String()+" "+req.Header.Get("Authorization"))
		s.mu.Unlock()
		w.WriteHeader(http.StatusForbidden)
		return
	}
	io.WriteString(w, s.files[oid])
}

// TestA92_GitLFSHasNoToken: git lfs fetches what its server keeps at another host, with
// a token and by a signed address, and has neither.
func TestA92_GitLFSHasNoToken(t *testing.T) {
	t.Parallel()
	s := newLFSServer("what is large\n", "what is larger\n")
	n := NewNode(t, Options{Policy: map[string]string{"lfs": `
write_paths: ["."]
caller: [cwd, tty, timeout, env]
egress_rules: ["POST git.example.test/repo.git/info/lfs/objects/batch", "GET other.test/**"]
credential_proxy: [{type: https_basic, target: git.example.test, source: {env: E2E_TOKEN}}]
on_minted: capture
`}})
	n.Lab.Serve("git.example.test", n.Lab.Private(http.HandlerFunc(s.batch)))
	n.Lab.Serve("other.test", http.HandlerFunc(s.storage))
	repo := n.Workspace(t, Alice, nil)
	var pointers strings.Builder
	for oid, c := range s.files {
		fmt.Fprintf(&pointers, "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %d\\n' > %s.bin\n", oid, len(c), oid[:8])
	}
	n.outside(t, repo, `git init -q . && git remote add origin https://git.example.test/repo && echo '*.bin filter=lfs' > .gitattributes
`+pointers.String()+`git -c filter.lfs.clean=cat -c filter.lfs.process= -c filter.lfs.required=false -c user.name=a -c user.email=a@b add -A
git -c user.name=a -c user.email=a@b commit -qm files`)
	o := n.Run(t, Ctl{UID: Alice, Dir: repo, Env: []string{"E2E_TOKEN=" + Token}, Args: []string{"exec", "--policy", "lfs", "--", "sh", "-c",
		"GIT_TRACE=1 GIT_CURL_VERBOSE=1 git lfs fetch && cat $(find .git/lfs/objects -type f)"}})
	o.Want(t, 0)
	for oid, c := range s.files {
		if !strings.Contains(o.Stdout, c) {
			t.Errorf("without %q: %s%s", c, o.Stdout, o.Stderr)
		}
		if strings.Contains(o.Stdout+o.Stderr, s.tokens[oid][len(s.tokens[oid])-20:]) {
			t.Errorf("the jail has %q", s.tokens[oid])
		}
	}
	if len(s.wrong) > 0 {
		t.Errorf("the storage refused %q", s.wrong)
	}
	if events := n.Run(t, Ctl{UID: Alice, Args: []string{"events", "--json"}}).Want(t, 0).Stdout; strings.Count(events, `"code":"captured"`) == 0 || strings.Contains(events, "minted-0123") {
		t.Errorf("%s", events)
	}
}
