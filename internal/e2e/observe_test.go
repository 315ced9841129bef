package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a jail refuses of files and system calls is seen where the policy says so,
// explained, and becomes lines of a policy.
func TestObserve(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"default": "caller: [cwd, tty, timeout, write, read]\nobserve: true\n"}})
	ws := n.Workspace(t, Alice, map[string]string{"in": "x", ".env": "SECRET=1", ".foo": "y"})
	data := n.Workspace(t, Alice, map[string]string{"table": "1", ".netrc": "machine x"})
	run := func(script string) Output {
		return n.Run(t, Ctl{UID: Alice, Dir: ws, Args: []string{"exec", "--", "sh", "-c", script}})
	}
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"13 a write": {"echo x > out; true", []string{
			`omnijailctl: write refused: ./out (the directory is read-only in policy "default")`, `hint: omnijailctl exec --write . -- …`}},
		"a write of what is there": {"echo x >> in; true", []string{
			`omnijailctl: write refused: ./in (it is read-only in policy "default")`, `hint: omnijailctl exec --write '` + ws + `/in' -- …`}},
		"through a link of the jail's": {"mkdir /tmp/d && cd /tmp/d && ln -s " + ws + " l && rm -f l/in; true", []string{
			`omnijailctl: write refused: ./in (the directory is read-only in policy "default")`}},
		"a file elsewhere": {"cat " + data + "/table; true", []string{
			`omnijailctl: read refused: ` + data + `/table (policy "default" has no line that grants it)`, `hint: omnijailctl exec --read '` + data + `/table' -- …`}},
		"a file of credentials": {"cat " + data + "/.netrc; true", []string{"it may hold credentials"}},
		"a hidden entry":        {"cat .foo; true", []string{`omnijailctl: read refused: ./.foo (it is hidden in the jail)`, `hint: cwd_allow_hidden: [".foo"]`}},
		"a system call":         {"unshare -U true; true", []string{`omnijailctl: system call refused: unshare (the filter of every jail refuses it)`, `hint: weaken: ["nested_sandbox"]`}},
		"what is allowed":       {"cat in > /tmp/x; ls; cat /etc/passwd; mkdir ~/y; cat /nowhere; true", nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(c.script).Want(t, 0)
			for _, want := range c.want {
				if !strings.Contains(o.Stderr, want) {
					t.Errorf("want %q", want)
				}
			}
			if len(c.want) == 0 && strings.Contains(o.Stderr, "refused: ") {
				t.Error("something was reported")
			}
			if t.Failed() {
				t.Logf("stdout:\n%s\nstderr:\n%s", o.Stdout, o.Stderr)
			}
		})
	}
	t.Run("in a session jail", func(t *testing.T) {
		id := strings.TrimSpace(n.Run(t, Ctl{UID: Alice, Dir: ws, Args: []string{"create"}}).Want(t, 0).Stdout)
		for _, file := range []string{"one", "two"} {
			o := n.Run(t, Ctl{UID: Alice, Dir: ws, Args: []string{"exec", "--jail", id, "--", "sh", "-c", "echo x > " + file + "; true"}}).Want(t, 0)
			if !strings.Contains(o.Stderr, "omnijailctl: write refused: ./"+file) {
				t.Errorf("%s", o.Stderr)
			}
		}
		n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}}).Want(t, 0)
		if s := n.suggestion(t, id); !slices.Equal(s.Write, []string{ws}) {
			t.Errorf("%+v", s)
		}
	})
	t.Run("becomes a policy", func(t *testing.T) {
		run("cat "+data+"/table "+data+"/.netrc .env; echo x > out").Want(t, 2)
		s := n.suggestion(t, jailOf(t, n))
		if !slices.Equal(s.Read, []string{data + "/table"}) || !slices.Equal(s.Write, []string{ws}) {
			t.Errorf("%+v", s)
		}
		if _, err := os.Stat(filepath.Join(ws, "out")); err == nil {
			t.Error("the file was written")
		}
	})
}
