package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/api"
)

// The user's own tools are tried in jails that reach nothing: the egress process
// answers them. A tool that does not work says why.
func TestDoctorTriesTheUsersTools(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Bubblewrap: true})
	bin := n.Workspace(t, Alice, map[string]string{"curl": "#!/bin/sh\necho this curl is broken >&2\nexit 3\n", "cargo": "#!/bin/nothing\n"})
	for _, name := range []string{"curl", "cargo"} {
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	states := func(path string) map[string]api.ToolReport {
		o := n.Run(t, Ctl{UID: Alice, Env: []string{"PATH=" + path}, Args: []string{"--json", "doctor", "--tools"}})
		var d api.Doctor
		if err := json.Unmarshal([]byte(o.Stdout), &d); err != nil || o.Exit > 1 {
			t.Fatalf("exit %d, %v\n%s", o.Exit, err, o.Stderr)
		}
		by := map[string]api.ToolReport{}
		for _, r := range d.Tools {
			by[r.Name] = r
		}
		return by
	}
	good := states("/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin")
	for _, name := range []string{"git", "gh", "curl", "node", "python", "java", "go", "npm", "pip", "cargo", "wget", "apt", "kubectl", "aws", "chromium"} {
		if r := good[name]; r.State != "ok" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	bad := states(bin)
	if r := bad["curl"]; r.State != "failed" || !strings.Contains(r.Reason, "is outside of what the jail sees") || !strings.Contains(r.Fix, "read_paths") {
		t.Errorf("%+v", r)
	}
	if r := bad["cargo"]; r.State != "failed" || r.Reason == "" {
		t.Errorf("%+v", r)
	}
	if seen := n.Lab.Connections(); seen != 0 {
		t.Errorf("%d connections left the node", seen)
	}
	n.Run(t, Ctl{UID: 0, Args: []string{"doctor", "--tools"}}).Want(t, 64)
}
