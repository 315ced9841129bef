package e2e

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// pythonCase calls run as its arguments say and prints what came of it.
const pythonCase = `
import json, os, sys
import omnijail
events = []
try:
    out = {"code": omnijail.run(on_event=events.append, **json.loads(os.environ["CASE"]))}
except omnijail.Refused as r:
    out = {"refused": r.code, "reason": r.reason, "fix": r.fix}
print(json.dumps({**out, "events": [next(iter(e)) for e in events]}), file=sys.stderr)
`

// pythonResult is what pythonCase prints.
type pythonResult struct {
	Code    *int
	Refused string
	Reason  string
	Events  []string
}

// python runs the example client as alice with the arguments in run.
func (n *Node) python(t *testing.T, module string, run map[string]any) (stdout string, r pythonResult) {
	t.Helper()
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", "-c", pythonCase)
	cmd.Dir = n.Workspace(t, Alice, nil)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + n.Home(t, Alice), "PYTHONPATH=" + module, "PYTHONDONTWRITEBYTECODE=1",
		"OMNIJAIL_SOCKET=" + n.Socket, "CASE=" + string(text)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Alice, Gid: Alice, Groups: []uint32{socketGID}}}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	return out.String(), r
}

func TestPythonClient(t *testing.T) {
	n := NewNode(t, Options{})
	// Alice cannot enter a source tree that is root's alone.
	module := filepath.Join(n.Dir, "python")
	source, err := os.ReadFile("../../examples/python/omnijail.py")
	if err == nil {
		err = os.Mkdir(module, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.write(t, "python/omnijail.py", string(source))

	t.Run("a secret is used and not given", func(t *testing.T) {
		out, r := n.python(t, module, map[string]any{"argv": []string{"sh", "-c", "gh api user -q .login; env"}, "policy": "github-read",
			"secrets": map[string]string{"GH_TOKEN": Token}})
		if r.Code == nil || *r.Code != 0 || !strings.HasPrefix(out, "octocat\n") || strings.Contains(out, Token) {
			t.Errorf("%+v\n%s", r, out)
		}
		if !slices.Equal(r.Events, []string{"started", "exit"}) {
			t.Errorf("events: %q", r.Events)
		}
	})
	t.Run("the command's own code", func(t *testing.T) {
		if _, r := n.python(t, module, map[string]any{"argv": []string{"sh", "-c", "exit 7"}, "policy": "offline"}); r.Code == nil || *r.Code != 7 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a denial is an event", func(t *testing.T) {
		_, r := n.python(t, module, map[string]any{"argv": []string{"curl", "-sS", "https://other.test/"}, "policy": "github-read"})
		if r.Code == nil || *r.Code == 0 || !slices.Contains(r.Events, "denied") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("what goes into the request as it is", func(t *testing.T) {
		_, r := n.python(t, module, map[string]any{"argv": []string{"touch", "made"}, "policy": "offline", "add": map[string]any{"write": []string{"."}}})
		if r.Code == nil || *r.Code != 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("refusals", func(t *testing.T) {
		for code, run := range map[string]map[string]any{
			"no_such_policy": {"argv": []string{"true"}, "policy": "no-such-policy"},
			"exec":           {"argv": []string{"true"}, "policy": "offline", "cwd": "/nonexistent"},
			"server":         {"argv": []string{"true"}, "socket_path": "run/s"},
		} {
			if _, r := n.python(t, module, run); r.Refused != code || r.Reason == "" {
				t.Errorf("want %s: %+v", code, r)
			}
		}
	})
	t.Run("a false server gets no byte", func(t *testing.T) {
		path := filepath.Join(n.Workspace(t, Alice, nil), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
		got := make(chan int, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				got <- -1
				return
			}
			n, _ := c.Read(make([]byte, 1))
			got <- n
		}()
		if _, r := n.python(t, module, map[string]any{"argv": []string{"true"}, "socket_path": path}); r.Refused != "server" {
			t.Errorf("%+v", r)
		}
		if n := <-got; n != 0 {
			t.Errorf("the false server got %d bytes", n)
		}
	})
}
