package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

// inventory is every name below dir with its contents.
func inventory(t testing.TB, dir string) string {
	t.Helper()
	var s strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		s.WriteString(p + " " + fi.Mode().String() + " ")
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			s.Write(b)
		}
		s.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// 200 starts (2,000 in a soak) against somebody who swaps what they are about for
// links that lead outside: nothing there is read, made or changed.
func TestS26_SwappedLinksLeadNowhere(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	const planted = "planted-outside-1234"
	out := n.Workspace(t, Alice, map[string]string{
		"file": planted, "in/x": planted, "config": planted, "hooks/h": planted, "wide.yaml": "read_paths: [\"DIR\"]\nwrite_paths: [\"DIR\"]\n",
	})
	wide := filepath.Join(out, "wide.yaml")
	b, err := os.ReadFile(wide)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(wide, []byte(strings.ReplaceAll(string(b), "DIR", out)), 0o644); err != nil {
		t.Fatal(err)
	}
	before := inventory(t, out)

	began, refused := 0, 0
	// What the command does with every name that could lead out.
	script := `cat ` + strings.Join([]string{out + "/file", "file", "in/x", "$W/cwd/file", "$W/dir/file", "$W/dir/in/x", "$W/one", "$W/deep/in/x", "$W/.env", "$W/.git/config"}, " ") + `
		for d in ` + out + ` . $W/cwd $W/dir $W/deep $W/deep/in $W/.git; do echo x > $d/created; mkdir $d/made; mv $d/file $d/moved; done
		echo x > $W/one; echo x > ` + out + `/file; ls ` + out
	for _, c := range []struct {
		name string
		swap []string
		args []string
	}{
		{"working directory", []string{"cwd"}, []string{"--cwd", "$W/cwd"}},
		{"working directory, writable", []string{"cwd"}, []string{"--cwd", "$W/cwd", "--write", "."}},
		{"granted directory", []string{"dir"}, []string{"--write", "$W/dir"}},
		{"granted file", []string{"one"}, []string{"--write", "$W/one"}},
		{"below a swapped directory", []string{"deep"}, []string{"--write", "$W/deep/in"}},
		{"nested in a writable one", []string{"dir", "deep", "one"}, []string{"--write", "$W", "--read", "$W/deep/in", "--write", "$W/dir"}},
		{"hidden and protected names", []string{".env", ".git"}, []string{"--write", "$W"}},
		{"policy file", []string{"p.yaml"}, []string{"--policy", "$W/p.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := n.Workspace(t, Alice, map[string]string{
				"cwd/own": "", "dir/own": "", "one": "", "deep/in/own": "", ".env": "", ".git/config": "", ".git/HEAD": "", "p.yaml": "description: narrow\n",
			})
			for name, to := range map[string]string{"cwd": "", "dir": "", "one": "file", "deep": "", ".env": "file", ".git": "", "p.yaml": "wide.yaml"} {
				if err := os.Symlink(filepath.Join(out, to), filepath.Join(w, name+"~")); err != nil {
					t.Fatal(err)
				}
			}
			n.Run(t, Ctl{UID: Alice, Dir: w, Args: []string{"policy", "trust", "p.yaml"}}).Want(t, 0)
			for i := range c.swap {
				c.swap[i] = filepath.Join(w, c.swap[i])
			}
			var args []string
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "$W", w))
			}
			args = append(append([]string{"exec"}, args...), "--env", "W="+w, "--", "sh", "-c", "echo began; { "+script+"; } 2>/dev/null; true")
			stop := lab.Race(c.swap...)
			for range soak(t, 100) / 4 {
				o := n.Run(t, Ctl{UID: Alice, Dir: w, Args: args})
				if strings.Contains(o.Stdout, planted) || strings.Contains(o.Stdout, "wide.yaml") {
					t.Errorf("the command read %q", o.Stdout)
				}
				if strings.HasPrefix(o.Stdout, "began") {
					began++
				} else {
					refused++
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if after := inventory(t, out); after != before {
				t.Errorf("outside, before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
	t.Logf("%d commands began, %d were refused", began, refused)
	if began < 20 || refused < 20 {
		t.Errorf("%d commands began and %d were refused: that is no race", began, refused)
	}
}
